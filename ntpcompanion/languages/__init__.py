"""What text is: sources of text, tokens, and exact counts of what follows what."""

from ntpcompanion.lazy_names import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__, extra="science")
