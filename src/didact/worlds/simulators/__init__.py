"""Environments that can only be stepped: batches of copies, state restoring, built-in ones."""
