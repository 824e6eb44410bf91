"""The list that is sent: its order, the rules of providers, and what gives way to fit."""
