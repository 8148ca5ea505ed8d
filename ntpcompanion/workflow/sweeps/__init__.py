"""One notebook or experiment at many points: tasks in processes of their own, each result on disk
before the next is waited for.

- `find_experiment`: an experiment found by its name, and the files that it declares
- `sweep`: a notebook or an experiment at every point of a grid
- `grid`: combinations of values, and how a command line writes them
- `targets`: what a sweep runs: a notebook under a profile, or an experiment
- `planned`: a sweep before it is started
- `overview`: a sweep in words: number of runs, expected time, progress
- `table`: its results as one tidy table
- `experiment_tasks`: one experiment at many points, each result on disk at once
- `alone`, `task_program`: a task in an interpreter and a folder of its own
- `journal`: finished tasks on disk, and which of them still count
- `task_inputs`: the data files that a task has read
- `calls`: calls sent to processes, and made again after a kill
- `cluster`: the processes: a local cluster of Dask, or an existing one
- `watch`: whether an existing one still has workers
- `preparation`: what happens in such a process before its first task
"""
