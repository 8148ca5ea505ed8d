"""Experiments: a frozen plan, and what running it gives. The one room that composes the others."""
