"""What results say, for every medium: one description for each type of result."""
