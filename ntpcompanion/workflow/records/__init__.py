"""Runs too long for the book, made once and kept; and sweeps: one notebook or experiment at many
points.

- `plans`: `book/records/plans.yml`
- `experiment`: an experiment found by its name, and run at one point
- `making`: the tasks of a record computed, and kept with their provenance
- `record`: a stored record, and its banner
- `verification`: tasks of a record run again and compared with what is stored
- `comparison`: whether two results are equal up to the tolerances of their fields
- `show`: how a notebook shows a record
- `sweep`: a notebook or an experiment at every point of a grid
- `grid`: combinations of values, and how a command line writes them
- `targets`: what a sweep runs: a notebook under a profile, or an experiment
- `planned`: a sweep before it is started
- `overview`: a sweep in words: number of runs, expected time, progress
- `table`: its results as one tidy table
- `tasks`: one experiment at many points, each result on disk before the next is waited for
- `alone`, `task_process`: a task in an interpreter of its own
- `journal`: finished tasks on disk, and which of them still count
- `inputs`: the data files that a task has read
- `calls`: calls sent to processes, and made again after a kill
- `cluster`: the processes: a local cluster of Dask, or an existing one
- `watch`: whether an existing one still has workers
- `preparation`: what happens in such a process before its first task
"""
