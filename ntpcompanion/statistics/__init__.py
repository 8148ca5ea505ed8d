"""What a few seeds say: effects with their errors, fractions of successes, power."""

from ntpcompanion.lazy_names import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__, extra="science")
