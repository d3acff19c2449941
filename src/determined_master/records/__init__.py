"""Records: what the store returns and the API shows; plain types without statements."""
