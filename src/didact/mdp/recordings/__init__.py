"""Recordings and the formats that others read and write."""
