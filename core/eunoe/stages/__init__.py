"""The rooms: pure stages from values to values. They do not know each other."""
