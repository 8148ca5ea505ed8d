"""One look for every figure: results and Axes in, Axes out. Only `use_style`, which the first
`figure` calls, changes anything outside its arguments.
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="plots")
