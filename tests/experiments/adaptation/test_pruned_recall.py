"""Prompts and margins on a model of 12 tokens, and estimates from margins that are written down."""
