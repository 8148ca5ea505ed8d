"""What text is: sources of text, tokens, and exact counts of what follows what."""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
