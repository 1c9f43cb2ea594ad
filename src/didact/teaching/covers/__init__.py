"""The cover problem of teaching: candidates, elements, bounds, and the proved minimum."""
