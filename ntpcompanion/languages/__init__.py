"""What text is: sources of text, tokens, and exact counts of what follows what."""
