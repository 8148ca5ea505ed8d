"""Campaigns: an experiment or a notebook at every point of a grid, each result on disk before the
next is waited for. One ends in a table (`sweep`) or in a sealed record (`workflow.records`).

- `grid`, `targets`: the points, and what runs at each of them
- `campaign`: computes what is missing, and keeps it in a journal
- `executors`: processes of this machine; `cluster`: of Dask, which must give the same numbers
- `task_process`, `task_program`: one task in a process and a folder of its own; do its inputs still
  fit?
- `sweep`: a sweep as a command line gives it, and its table of results
"""
