"""Training, of one network or of a stack, and what is done to trained ones."""
