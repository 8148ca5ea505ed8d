"""The trace of the Fisher information, and what leaves a function as it is."""
