"""The hall: the one place where the stages meet."""
