"""The tables of a real text, with the hidden states of a real language model as embeddings."""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="science")
