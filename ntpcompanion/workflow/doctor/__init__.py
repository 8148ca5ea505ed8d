"""Is this environment, and this machine, fit to make the book?"""
