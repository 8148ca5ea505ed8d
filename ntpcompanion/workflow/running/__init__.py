"""Notebooks executed, their results stored, and the decision which of them are stale.

- `runs`: a notebook under a profile; `stale_reasons` decides whether it runs again
- `freshness`: the key of a run: everything that decides its numbers, and what changed in it
- `sources`: which files of the package a piece of code depends on
- `uses`: the names that a piece of code uses of the modules it imports
- `faces`: the modules that define the names of a room's face
- `meaning`: what a source file means, for the records that it made
- `computing`: what of it can move a number: no docstrings, annotations and checks
- `execute`: the stale runs, several at a time, each outcome stored whole or not at all
- `job`: what a worker is told
- `workers`: how workers are started, and end with the runner
- `fork_server`: the process that has the libraries loaded, of which workers and kernels are forked
- `ahead`: such a process, started while the command is still being loaded
- `libraries`: which modules of libraries a notebook is going to import
- `worker`: the process that executes one notebook with papermill
- `forked_kernel`: the kernel beside a forked worker, as jupyter_client starts kernels
- `sockets`: the folder for the sockets of its kernel
- `results`: the results file beside an executed notebook
- `history`: the values of claims, kept for each build and machine
"""
