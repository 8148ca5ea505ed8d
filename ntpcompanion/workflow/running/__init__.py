"""Notebooks executed, their results stored, and the decision which of them are stale.

- `runs`: a notebook under a profile; `stale_reasons` decides whether it runs again
- `freshness`: the key of a run: everything that decides its numbers, and what changed in it
- `sources`: which files of the package a piece of code depends on
- `uses`: the names that a piece of code uses of the modules it imports
- `faces`: the modules that define the names of a room's face
- `reach`: the definitions that an experiment rests on, for its records
- `statements`: what a statement of a module refers to, by the scopes of Python
- `bindings`: what statements and imports bind in their scope
- `modules`: the modules of packages, and what a dotted name in them is bound to
- `tree_hash`: the hash of a syntax tree whose names stand for definitions
- `elsewhere`: statements that act at import, or look where nothing can be seen
- `purity`: which calls of argument checks may be left out
- `catching`: where their errors may be caught
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
