"""The policies, by name: which part of a chat each of them sends."""
