"""Summaries of what a cut left out: written behind the answers, shown at the head of the window."""
