"""Masked sentences of exact languages, plans of these languages, and labelled examples."""
