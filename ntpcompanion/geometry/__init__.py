"""What features become when they are free: the geometry of next-token prediction with trainable
context embeddings (Zhao, Behnia, Vakilian, Thrampoulidis 2024), and of the supervised contrastive
loss (Behnia, Thrampoulidis 2024).
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
