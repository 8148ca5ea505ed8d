"""Notebooks executed, results stored, and the decision which of them are stale."""
