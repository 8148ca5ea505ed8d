"""What the trace of a Hessian says: flattest networks of brackets, and the drift along a valley."""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
