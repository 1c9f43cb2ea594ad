"""Gymnasium environments as tasks: by their tables, or by walking through them."""
