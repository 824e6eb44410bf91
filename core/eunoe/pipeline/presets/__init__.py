"""Published ways of choosing what a model sees, by name; one module each."""
