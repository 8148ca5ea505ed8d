from .hessian import FlatModule as FlatModule
from .hessian import hessian_products as hessian_products
from .hessian import full_hessian as full_hessian
from .trace import exact_trace as exact_trace
from .trace import hutchinson_trace as hutchinson_trace
from .trace import fisher_trace as fisher_trace
from .trace import TraceEstimate as TraceEstimate
from .model import ConditionalModel as ConditionalModel
from .model import gradient_covariance as gradient_covariance
from .manifold import tangent_basis as tangent_basis
from .manifold import nearest_minimizer as nearest_minimizer
from .drift import follow_ode as follow_ode
from .drift import follow_adam_ode as follow_adam_ode
from .ensemble import follow_sgd as follow_sgd
from .ensemble import follow_adam as follow_adam
from .fisher_bias import fisher_bias as fisher_bias
from .averages import mean_and_error as mean_and_error
from .averages import at_rate_zero as at_rate_zero
from .toy_models import bernoulli as bernoulli
from .toy_models import imbalance as imbalance

__all__ = [
    "FlatModule",
    "hessian_products",
    "full_hessian",
    "exact_trace",
    "hutchinson_trace",
    "fisher_trace",
    "TraceEstimate",
    "ConditionalModel",
    "gradient_covariance",
    "tangent_basis",
    "nearest_minimizer",
    "follow_ode",
    "follow_adam_ode",
    "follow_sgd",
    "follow_adam",
    "fisher_bias",
    "mean_and_error",
    "at_rate_zero",
    "bernoulli",
    "imbalance",
]
