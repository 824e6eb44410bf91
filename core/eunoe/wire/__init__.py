"""Foreign message formats, read into the house's values and written back."""
