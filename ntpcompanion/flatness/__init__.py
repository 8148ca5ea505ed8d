"""Curvature of a loss at a point, and the drift of stochastic gradient descent along a valley of
minimizers (Liu et al. 2023).
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
