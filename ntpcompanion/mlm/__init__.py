"""Masked language models: what they are, how they are trained on an exact language, and how far
they are from its conditionals.
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
