from .supports import centred_support as centred_support
from .supports import all_supports as all_supports
from .supports import in_support_logits as in_support_logits
from .supports import project_in_support as project_in_support
from .supports import polar_certificate as polar_certificate
from .random_geometry import random_supports as random_supports
from .random_geometry import random_distributions as random_distributions
from .nuclear_svm import solve_nuclear_svm as solve_nuclear_svm
from .nuclear_svm import certified_nuclear_gap as certified_nuclear_gap
from .unconstrained import ridge_path as ridge_path
from .unconstrained import balanced_factors as balanced_factors
from .factor_descent import train_factors as train_factors
from .gram_matrices import gram_matrices as gram_matrices
from .gram_matrices import cosines as cosines
from .gram_matrices import similarity as similarity
from .gram_matrices import pair_similarity as pair_similarity
from .predictions import predicted_grams as predicted_grams
from .predictions import equal_supports as equal_supports
from .contrastive import contrastive_minimum as contrastive_minimum
from .contrastive import class_gram as class_gram
from .synthetic_text import synthetic_floors as synthetic_floors

__all__ = [
    "centred_support",
    "all_supports",
    "in_support_logits",
    "project_in_support",
    "polar_certificate",
    "random_supports",
    "random_distributions",
    "solve_nuclear_svm",
    "certified_nuclear_gap",
    "ridge_path",
    "balanced_factors",
    "train_factors",
    "gram_matrices",
    "cosines",
    "similarity",
    "pair_similarity",
    "predicted_grams",
    "equal_supports",
    "contrastive_minimum",
    "class_gram",
    "synthetic_floors",
]
