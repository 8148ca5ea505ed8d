"""How long things take: benchmarks that are kept, and this code against another commit.

- `bench`: the file of a run of the benchmarks, read, checked and written
- `medians`: medians of paired timings with their intervals, and slopes of growth
- `workloads`: what `check --bench` times, as the file of the book names it
- `trees`: the code of another commit, beside the checkout
- `duel`: the workloads by both, in turns
- `turns`: the process that runs workloads on request; it imports nothing of ours
"""
