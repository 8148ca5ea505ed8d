"""Experiments: a frozen plan, and what running it gives. The one package that composes the others.

Each module that a record can name is one experiment: a class `Plan`, a class `Result`, and a
function `run(plan)` that gives a result. A record names it by the name of its module, and so do
the public names of this package.
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
