"""Real text: read, cut into tokens, counted by context."""
