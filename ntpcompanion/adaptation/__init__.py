"""Adapting trained models: class attributes, dropped deltas."""
