"""Generalization, paper by paper: one module for each, with the exact core of its statement."""

from ntpcompanion.lazy_names import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__, extra="science")
