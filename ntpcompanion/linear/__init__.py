"""Next-token prediction with a linear decoder over fixed context embeddings (Thrampoulidis
2024).
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
