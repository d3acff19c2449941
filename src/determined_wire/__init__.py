"""What master and agent share: REST messages, the agent link, and the settings reader."""
