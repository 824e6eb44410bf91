"""Scoring: how much each message matters to a question."""
