"""Adapting trained models: one module for each paper or idea, with its exact core."""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
