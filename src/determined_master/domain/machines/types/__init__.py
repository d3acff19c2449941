"""Tables of the clouds: machine types, prices, and what the clouds refuse."""
