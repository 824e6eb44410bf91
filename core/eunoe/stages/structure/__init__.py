"""Structure of a conversation."""
