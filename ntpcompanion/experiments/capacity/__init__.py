"""How many next-token distributions a decoder can store, and how many parameters text needs."""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
