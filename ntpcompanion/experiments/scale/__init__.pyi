from . import large_svm as large_svm
from . import large_descent as large_descent

__all__ = [
    "large_svm",
    "large_descent",
]
