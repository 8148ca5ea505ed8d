"""Masked language models: what they are, how they are trained on an exact language, and how far
they are from its conditionals.
"""
