"""Notebooks executed, their results stored, and the decision which of them are stale.

- `runs`: a notebook under a profile; `stale_reasons` decides whether it runs again
- `freshness`: the key of a run: everything that decides its numbers, and what changed in it
- `execute`: the stale runs, several at a time, each outcome stored whole or not at all
- `layout`: what a run declares, and the folder in which it lives, which holds that and its modules
- `start`: its environment, the places that it may read besides, and what all runs have in common
- `confine`: the program that closes all other places
- `undeclared`: what a run asked for and did not declare, in sentences
- `papermill_run`: one notebook executed with papermill, and what is kept of it
- `kernel`: the kernel, without configuration of the user or the machine
- `results`: the results file beside an executed notebook
- `history`: the values of claims, kept for each build and machine
"""
