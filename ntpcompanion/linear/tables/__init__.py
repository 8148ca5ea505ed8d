"""The training set as a table: distinct contexts with their next-token distributions."""
