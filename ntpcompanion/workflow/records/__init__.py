"""Runs too long for the book: planned, made in parallel, sealed, shown."""
