"""Balanced brackets, one masked, and the one-layer transformers that predict the hidden one (Liu et
al. 2023, section 6).
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
