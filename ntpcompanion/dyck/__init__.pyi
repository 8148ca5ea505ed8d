from .sentences import balanced_sentences as balanced_sentences
from .sentences import dyck_sentences as dyck_sentences
from .sentences import mask_each as mask_each
from .sentences import masked_support as masked_support
from .bracket_transformer import Parameters as Parameters
from .bracket_transformer import predict as predict
from .bracket_transformer import squared_loss as squared_loss
from .bracket_transformer import gradients as gradients
from .network import Network as Network
from .bound import lower_bound as lower_bound
from .bound import squared_gradient_norm as squared_gradient_norm
from .solutions import transferable as transferable
from .solutions import three_neurons as three_neurons
from .solutions import memoriser as memoriser
from .solutions import random_features as random_features
from .balance import balance_globally as balance_globally
from .balance import balance_neurons as balance_neurons
from .minimizer_path import follow_trace_flow as follow_trace_flow
from .bracket_counting import success_probability as success_probability
from .bracket_counting import learning_curve as learning_curve
from .bound import losses_of_moves as losses_of_moves

__all__ = [
    "balanced_sentences",
    "dyck_sentences",
    "mask_each",
    "masked_support",
    "Parameters",
    "predict",
    "squared_loss",
    "gradients",
    "Network",
    "lower_bound",
    "squared_gradient_norm",
    "transferable",
    "three_neurons",
    "memoriser",
    "random_features",
    "balance_globally",
    "balance_neurons",
    "follow_trace_flow",
    "success_probability",
    "learning_curve",
    "losses_of_moves",
]
