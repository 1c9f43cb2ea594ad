"""Studies of what goes beyond the paper."""
