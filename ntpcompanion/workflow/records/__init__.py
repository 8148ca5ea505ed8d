"""Runs too long for the book, planned, made once and kept; and one run at many parameters.

- `plans`: `book/records/plans.yml`
- `experiment`: experiments found by name
- `making`, `tasks`: a record made, its tasks in parallel
- `record`: a stored record, read and checked
- `show`: how a notebook shows a record
- `verification`, `comparison`: tasks of a record run again and compared with it
- `sweep`: a notebook or an experiment at every point of a grid
- `overview`, `planned`: what a sweep will run, read from a command line and checked
- `grid`, `targets`: values of parameters, and what is run with them
- `table`: the results of a sweep, one row for each
- `cluster`, `preparation`: the processes of Dask, and how each is prepared
- `calls`, `journal`: calls that are made by them, and what has finished on disk
"""
