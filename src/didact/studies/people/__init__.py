"""Studies with people: who is shown which lesson, what they answer, and what follows from it."""
