"""Pages to send: one HTML file, nothing loaded."""
