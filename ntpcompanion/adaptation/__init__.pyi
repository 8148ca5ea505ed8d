from .class_attributes import cost_sensitive_svm as cost_sensitive_svm
from .class_attributes import move_margin as move_margin
from .class_attributes import best_delta as best_delta
from .class_attributes import predicted_scores as predicted_scores
from .class_attributes import limit_delta as limit_delta
from .logit_adjustment import fit_adjustment as fit_adjustment
from .federated_prompts import component_risk as component_risk
from .federated_prompts import fit_components as fit_components

__all__ = [
    "cost_sensitive_svm",
    "move_margin",
    "best_delta",
    "predicted_scores",
    "limit_delta",
    "fit_adjustment",
    "component_risk",
    "fit_components",
]
