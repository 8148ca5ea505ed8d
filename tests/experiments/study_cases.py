"""A study that takes a second: what its tests share."""

from ntpcompanion.experiments.same_loss.downstream import Plan

STEPS = {"steps": 6, "batch_size": 8, "learning_rate": 1e-2}
PROBE = {"dims": 4, "draws": 1, "shots": 10, "subsets": 1, "ridges": [0.1], "tolerance": 1e-3}
SUITE = {"places": [1, 3], "examples": [60, 40], "sentences": 100, "inputs": 16, "labels": 1}
SUITE |= {"probe": PROBE}
VALUES = {
    "language": {"family": "hmm", "states": 2, "words": 6, "length": 4, "blocks": 1},
    "shape": {"width": 8, "layers": 1, "heads": 2},
    "training": STEPS,
    "seeds": [3, 5],
    "suite": SUITE,
}


def plan(*interventions, **changes):
    return Plan.from_json({**VALUES, "interventions": list(interventions), **changes})


NOISE = {
    "kind": "noise",
    "sgd": {**STEPS, "optimizer": "sgd"},
    "rates": [0.0, 1.0],
    "anneal": STEPS,
}
PENALTY = {"kind": "penalty", "training": STEPS, "weights": [-0.1, 0.0, 0.1]}
ATTACK = {"kind": "adversarial", "weights": [0.0, 0.5], "ridge": 2.0, "first": 12, "second": 8}
CONTINUED = {"kind": "continued", "training": STEPS}
RESCALED = {"kind": "rescaled", "logarithms": [0.4]}
