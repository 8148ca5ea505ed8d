"""Runs too long for the book, made once and kept; and sweeps: one notebook or experiment at many
points.

- `plans`: `book/records/plans.yml`
- `making`: the tasks of a record computed, and kept with their provenance
- `record`: a stored record, and its banner
- `verification`: tasks of a record run again and compared with what is stored
- `result_comparison`: whether two results are equal up to the tolerances of their fields
- `show`: how a notebook shows a record
"""
