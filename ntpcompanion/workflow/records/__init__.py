"""Runs too long for the book: planned, made once and kept; and one function over many parameters.

- `record`: `book/records/plans.yml`, a stored record with its provenance, and its banner
- `show`: how a notebook shows a record
- `sweep`: tasks in parallel processes, each result on disk before the next is waited for
"""
