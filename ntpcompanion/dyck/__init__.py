"""Balanced brackets, one masked, and the one-layer transformers that predict the hidden one (Liu et
al. 2023, section 6).
"""
