"""Runs too long for the book, made once and kept.

- `record`: `book/records/plans.yml`; a stored record, and its banner
- `making`: the tasks of a record computed and kept with their provenance, or run again
- `show`: how a notebook shows it
- `deviation`: whether two results are equal up to the tolerances of their fields
"""
