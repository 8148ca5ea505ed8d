"""What k parameters can store: ranks of Jacobians, collisions of attention, fits to the entropy
(Madden, Fox, Thrampoulidis 2025).
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
