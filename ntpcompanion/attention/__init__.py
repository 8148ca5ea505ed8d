"""One layer of self-attention: which tokens it keeps as its key-query matrix grows (Vasudeva,
Deora, Thrampoulidis 2025).
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
