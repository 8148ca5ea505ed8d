"""Every argument of the public names of flatness, wrong in every way that a user may get it
wrong.
"""

import numpy as np
import torch
from torch import nn

from ntpcompanion import flatness as fl
from tests.mistakes import wrong_calls

THETA = torch.tensor([2.0, 0.5], dtype=torch.float64)
TRUTH = torch.tensor([[0.8, 0.2]], dtype=torch.float64)
ONE = torch.ones(1, dtype=torch.float64)
LINEAR = nn.Linear(2, 2).double()
FLAT, AT = fl.FlatModule(LINEAR), nn.utils.parameters_to_vector(LINEAR.parameters()).detach()


def logits(theta):
    product = theta.prod(-1)[..., None]
    return torch.stack([product, -product], dim=-1)


def loss(theta):
    return theta.square().sum()


def rng():
    return np.random.default_rng(0)


MODEL = fl.ConditionalModel(logits, TRUTH, ONE)
AT_POINT = {"model": MODEL, "theta": THETA}
SGD = {"model": MODEL, "start": THETA, "learning_rate": 0.1, "steps": 3}
SGD |= {"batch_size": 1, "replicas": 2, "rng": rng, "snapshots": 2}
FLOW = {"model": MODEL, "start": THETA, "horizon": 0.1, "points": 2}
LINE = {"rates": [0.1, 0.2, 0.3], "values": [1.0, 1.1, 1.2], "errors": [0.1, 0.1, 0.1]}
FISHER = {"logits": lambda: FLAT, "theta": AT, "inputs": torch.ones((3, 2), dtype=torch.float64)}
FISHER |= {"labels_per_input": 2, "generator": torch.Generator, "chunk_size": 2}

RIGHT = {
    "FlatModule": (fl.FlatModule, {"module": lambda: LINEAR}),
    "hessian_products": (
        fl.hessian_products,
        {"loss": lambda: loss, "theta": THETA, "vectors": torch.eye(2, dtype=torch.float64)},
    ),
    "full_hessian": (fl.full_hessian, {"loss": lambda: loss, "theta": THETA}),
    "exact_trace": (fl.exact_trace, {"loss": lambda: loss, "theta": THETA}),
    "hutchinson_trace": (
        fl.hutchinson_trace,
        {"loss": lambda: loss, "theta": THETA, "probes": 3, "generator": torch.Generator},
    ),
    "fisher_trace": (fl.fisher_trace, FISHER),
    "ConditionalModel": (
        fl.ConditionalModel,
        {"logits": lambda: logits, "distributions": TRUTH, "weight": ONE},
    ),
    "gradient_covariance": (fl.gradient_covariance, AT_POINT),
    "tangent_basis": (fl.tangent_basis, AT_POINT),
    "nearest_minimizer": (fl.nearest_minimizer, {**AT_POINT, "tol": 1e-9}),
    "fisher_bias": (fl.fisher_bias, AT_POINT),
    "follow_ode": (fl.follow_ode, {**FLOW, "batch_size": 1}),
    "follow_adam_ode": (fl.follow_adam_ode, FLOW),
    "follow_sgd": (fl.follow_sgd, SGD),
    "follow_adam": (fl.follow_adam, {**SGD, "betas": (0.9, 0.999)}),
    "mean_and_error": (fl.mean_and_error, {"values": torch.ones(3)}),
    "at_rate_zero": (fl.at_rate_zero, LINE),
}
WRONG = """
FlatModule: module=table
hessian_products: loss=function theta=point vectors=columns
full_hessian: loss=function theta=point
exact_trace: loss=function theta=point
hutchinson_trace: loss=function theta=point probes=two generator=generator
fisher_trace: logits=function theta=point inputs=inputs labels_per_input=size
fisher_trace: generator=generator chunk_size=size_or_none
ConditionalModel: logits=function distributions=matrix weight=vector
gradient_covariance: model=table theta=point
tangent_basis: model=table theta=point
nearest_minimizer: model=table theta=point tol=positive
fisher_bias: model=table theta=point
follow_ode: model=table start=point horizon=positive points=two batch_size=size
follow_adam_ode: model=table start=point horizon=positive points=two
follow_sgd: model=table start=point learning_rate=positive steps=size batch_size=size_or_none
follow_sgd: replicas=size rng=rng snapshots=two
follow_adam: model=table start=point learning_rate=positive steps=size batch_size=size_or_none
follow_adam: replicas=size rng=rng snapshots=two betas=pair weight_decay=number
follow_adam: epsilon=number
mean_and_error: values=values
at_rate_zero: rates=vector values=vector errors=vector
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT)
