"""Runs too long for the book, made once and kept.

- `plans`: `book/records/plans.yml`
- `making`: the tasks of a record computed and kept with their provenance, or run again
- `record`: a stored record, and its banner; `show`: how a notebook shows it
- `result_comparison`: whether two results are equal up to the tolerances of their fields
"""
