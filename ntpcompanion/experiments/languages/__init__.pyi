from . import exact_conditionals as exact_conditionals

__all__ = [
    "exact_conditionals",
]
