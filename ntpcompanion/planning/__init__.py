"""Can a next-token predictor plan? Path-star graphs, on which every token of the answer follows
from the question and next-token training still fails (Bachmann, Nagarajan 2024).
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
