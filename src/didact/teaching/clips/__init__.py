"""Lessons for policies in simulators: clips that leave little open, and how little, certified."""
