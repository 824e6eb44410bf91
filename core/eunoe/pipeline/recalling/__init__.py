"""What comes back from before the window: when, and what."""
