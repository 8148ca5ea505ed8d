"""Claims of the papers, their measurements, verdicts and baselines."""
