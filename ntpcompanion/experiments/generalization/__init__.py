"""What held-out data say of small networks."""

from ntpcompanion.lazy_names import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__, extra="science")
