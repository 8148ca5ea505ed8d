"""Long runs: each module has a `Plan`, a `Result` and `run(plan)`."""
