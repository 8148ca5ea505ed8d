"""Runs too long for the book, made once and kept.

- `plans`: `book/records/plans.yml`, from which `making` makes a record, or runs tasks of it again
- `record`: a stored record, and its banner; `show`: how a notebook shows it
- `result_comparison`: whether two results are equal up to the tolerances of their fields
"""
