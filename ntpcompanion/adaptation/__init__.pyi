from .class_attributes import cost_sensitive_svm as cost_sensitive_svm
from .class_attributes import move_margin as move_margin
from .class_attributes import best_delta as best_delta
from .class_attributes import predicted_scores as predicted_scores
from .class_attributes import limit_delta as limit_delta

__all__ = [
    "cost_sensitive_svm",
    "move_margin",
    "best_delta",
    "predicted_scores",
    "limit_delta",
]
