"""Pre-training, interventions at the same loss, and what they do downstream."""

from ntpcompanion.lazy_names import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__, extra="science")
