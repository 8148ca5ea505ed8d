"""Gradient flows, runs and minimizers on spheres, true and false, with what claims measure on them.

A false flow is the true one with another limit, another rate or another constant.
"""

from functools import lru_cache, partial

import numpy as np

from ntpcompanion.linear import (
    ContextTable,
    DecomposedLoss,
    cosine_distance,
    descend,
    measure_alignment,
    project_onto_F,
    solve_ntp_svm,
    step_bound,
)
from ntpcompanion.linear.dynamics.convergence_rate import convergence_rate
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.dynamics.flow_angle import predict_distance
from ntpcompanion.linear.dynamics.regularization_path import regularization_path
from ntpcompanion.linear.dynamics.trajectory import last_decoders, stability_edge
from ntpcompanion.linear.svm.complementarity import complementarity_gap, tilted_pair
from ntpcompanion.linear.svm.planar_examples import planar_tables, widest_margin
from tests.fakes import Family
from tests.linear.cases import table as table_of

TABLE, OTHER = (ContextTable.random(6, 5, 2, 7, np.random.default_rng(seed)) for seed in (0, 1))
LOSS = DecomposedLoss(TABLE)
SOLVED = solve_ntp_svm(TABLE, tol=1e-12)
SVM, SIZE = SOLVED.weights, np.linalg.norm(SOLVED.weights)
DRAWN = np.random.default_rng(2).standard_normal(SVM.shape)
INSIDE = project_onto_F(TABLE, DRAWN)
ACROSS = DRAWN - INSIDE - np.vdot(DRAWN, SVM) / SIZE**2 * SVM  # orthogonal to F and to W^mm
ACROSS *= SIZE / np.linalg.norm(ACROSS)
INSIDE /= np.linalg.norm(INSIDE)

EXPONENT = convergence_rate(TABLE, SOLVED)
SETTLING = np.linspace(6, 9, 4) / EXPONENT
MIDDLE = np.array([30.0, 60, 120, 240, 480])
LATE, LEMMA = np.geomspace(1e3, 1e6, 8), np.geomspace(5, 5e3, 30)
TIMES = np.unique(np.r_[1, 10, 30, 100, 1e3, 8e5, 1e6, SETTLING, MIDDLE, LATE, LEMMA])


@lru_cache
def true_flow():
    flow = gradient_flow(TABLE, TIMES)
    return flow.weights, flow.finite_error, flow.finite, flow.log_scales


def rows(times):
    return [int(np.abs(TIMES - t).argmin()) for t in times]


def follow(change, times):
    """Decoders, their distances from W*, and their parts in F less W*, in coordinates with the log
    of their scale, at some of the times.
    """
    path = [np.array(x[rows(times)]) for x in true_flow()]
    return path if change is None else change(path, np.array(times)[:, None, None])


def moved(by, path, t):
    return [path[0] + by(t), *path[1:]]


def beside(size, path, t):
    """Another part in F: it stays at a distance of `size(t)` from W*."""
    coordinates = size(t)[:, :, 0] * np.tensordot(LOSS.bases.finite, INSIDE, 2)
    return [path[0] + size(t) * INSIDE, size(t).ravel(), coordinates, 0 * path[3]]


def without_growth(path, t):
    return [np.repeat(x, t.size, axis=0) for x in follow(None, [10.0])]


def backwards(path, t):
    return [x[::-1] for x in path]


FALSE_FLOWS = {
    "another limit": partial(moved, lambda t: 0.3 * t * ACROSS),
    "another rate": partial(moved, lambda t: (np.sqrt(t) - t) * SVM),
    "another constant": partial(moved, lambda t: t * SVM),
    "an offset without a limit": partial(moved, lambda t: np.log(t) * ACROSS),
    "the opposite direction": partial(moved, lambda t: -2 * t * SVM),
    "a norm that converges": partial(moved, lambda t: (9 - 9 / t - t) * SVM),
    "no growth": without_growth,
    "another finite part": partial(beside, lambda t: 0.5 + 0 * t),
    "a slow finite part": partial(beside, lambda t: 0.5 / t),
    "backwards": backwards,
}


def power(x, y):
    return -np.polyfit(np.log(x), np.log(y), 1)[0]


def distances(path, times):
    return cosine_distance(path(times)[0], SVM)


def norm_slope(path):
    rest = measure_alignment(TABLE, path([8e5, 1e6])[0], SVM).rest_norm
    return np.diff(rest)[0] / 2e5 / SIZE


def growth_rate(path):
    growth = np.diff(path(SETTLING)[0], axis=0) / (SETTLING[1] - SETTLING[0])
    error = np.linalg.norm(growth - SVM, axis=(1, 2))
    return -np.polyfit(SETTLING[1:], np.log(error), 1)[0] / EXPONENT


def constant(path):
    (read,), later = path([1e3])[0], [1e6]
    return distances(path, later)[0] / predict_distance(TABLE, read, 1e3, SVM, later)[0]


def log_excess(growing, finite, scale):
    return LOSS.log_excess(LOSS.point(finite, growing, scale))


def losses(path):
    weights, _, *finite = path([1.0, 10, 100, 1e3])
    growing = [LOSS.coordinates(W)[1] for W in weights]
    return [log_excess(*state) for state in zip(growing, *finite, strict=True)]


def power_of_lemma_5(path):
    weights, _, *finite = path(LEMMA)
    toward, last = LOSS.coordinates(SVM)[1] / SIZE, {}
    for alpha in (0.02, 0.01, 0.005, 0.002):
        last[alpha] = 1.0
        for t, W, *inside in zip(LEMMA, weights, *finite, strict=True):
            growing = LOSS.coordinates(W)[1]
            better = (1 + alpha) * np.linalg.norm(growing) * toward
            if log_excess(better, *inside) > log_excess(growing, *inside):
                last[alpha] = t
    return power(list(last), list(last.values()))


FLOW = Family(
    partial(follow, None),
    {name: partial(follow, change) for name, change in FALSE_FLOWS.items()},
    {
        "ntp.thm2.direction": lambda path: distances(path, [1e6])[0],
        "ntp.thm2.finite": lambda path: path([30.0])[1][0],
        "ntp.thm2.norm-rate": norm_slope,
        "ntp.thm2.finite-rate": lambda path: power(np.exp(MIDDLE), path(MIDDLE)[1]),
        "ntp.thm2.alignment-rate": lambda path: power(LATE, distances(path, LATE)),
        "ntp.thm2.alignment-constant": constant,
        "ntp.thm2.growth-rate": growth_rate,
        "ntp.lemma2.loss": losses,
        "ntp.lemma2.norm": lambda path: np.divide(
            *np.linalg.norm(path([1e3, 10.0])[0], axis=(1, 2))
        ),
        "ntp.lemma5.late": power_of_lemma_5,
    },
)

RUN, RUN_OF_OTHER = (
    [
        at.weights
        for at in descend(
            table,
            steps=2000,
            keep=[0, 12, 160, 2000],
            rng=np.random.default_rng(3),
            optimizer="gd",
            learning_rate=step_bound(TABLE),
        )
    ]
    for table in (TABLE, OTHER)
)


@lru_cache
def flow_of_run():
    times = np.log(step_bound(TABLE) * np.array([12, 160, 2000]))
    return gradient_flow(TABLE, times, start=RUN[0]).weights


def from_the_flow(run):
    away = np.linalg.norm(run[1:] - flow_of_run(), axis=(1, 2))
    return (away / np.linalg.norm(run[1:], axis=(1, 2))).max()


DESCENT = Family(
    RUN,
    {
        "backwards": RUN[::-1],
        "stopped": [*RUN[:2], RUN[1], RUN[1]],
        "of another table": RUN_OF_OTHER,
        "uphill": [W - 0.9 * k * (RUN[3] - RUN[0]) for k, W in enumerate(RUN)],
    },
    {
        "ntp.thm2.descent": lambda run: cosine_distance(np.array(run), SVM),
        "ntp.thm2.finite-descent": lambda run: measure_alignment(TABLE, run, SVM).finite_error,
        "ntp.thm2.flow": from_the_flow,
    },
)

PLANE, IN_PLANE = widest_margin(planar_tables(30, np.random.default_rng(0)))
DECADES = 20 - np.log(10) * np.arange(3, -1, -1)  # log t
DECADE = np.linspace(DECADES[-2], DECADES[-1], 5)


@lru_cache
def flow_in_plane():
    flow = gradient_flow(PLANE, np.unique(np.r_[1.0, DECADES, DECADE]))
    return flow.weights


def measured_in_plane(weights):
    """The numbers of figure 1: over the last decade, and over four."""
    times = np.exp(DECADE - DECADE[0])
    return {
        "ntp.fig1.loss": power(times, [PLANE.excess(W) for W in weights[3:]]),
        "ntp.fig1.direction": cosine_distance(weights[[1, 2, 3, -1]], IN_PLANE.weights),
    }


def planar_family():
    weights = flow_in_plane()
    return Family(
        weights,
        {
            "backwards": weights[::-1],
            "stopped": weights[[1] * len(weights)],
            "faster": np.exp(np.linspace(0, 0.4, len(weights)))[:, None, None] * -weights,
        },
        {
            name: lambda weights, name=name: measured_in_plane(weights)[name]
            for name in ("ntp.fig1.loss", "ntp.fig1.direction")
        },
    )


def on_sphere(radius):
    found = regularization_path(TABLE, np.array([radius]))
    return found.weights[0], found.finite_error[0]


def ray(direction, finite, radius):
    W = radius * direction / np.linalg.norm(direction) + finite
    return W, measure_alignment(TABLE, W, SVM).finite_error[0]


STAR = LOSS.finite_part
SPHERE = Family(
    on_sphere,
    {
        "another direction": partial(ray, SVM + 0.01 * ACROSS, 0 * STAR),
        "of another table": partial(ray, RUN_OF_OTHER[-1], 0 * STAR),
        "the opposite": partial(ray, -SVM, 2 * STAR),
        "another finite part": partial(ray, SVM, 1.01 * STAR),
    },
    {
        "ntp.thm1.direction": lambda sphere: cosine_distance(sphere(1e6)[0][None], SVM)[0],
        "ntp.thm1.finite": lambda sphere: sphere(100.0)[1],
    },
)

PAIR_TIMES = np.geomspace(1e3, 1e6, 4)


@lru_cache
def pair(tilt):
    """2 log² t (1 − cos) along the flow of two points."""
    tol = 1e-6 if tilt else 1e-8  # what grows like log log t is the hardest to follow
    weights = gradient_flow(tilted_pair(tilt), PAIR_TIMES, tol=tol).weights
    return 2 * PAIR_TIMES**2 * cosine_distance(weights, np.array([[0.5, 0], [-0.5, 0]]))


DEGENERATE = Family(
    0.0,
    {f"tilt {tilt}": tilt for tilt in (0.01, 0.1, 0.2)},
    {
        "ntp.thm2.degenerate": lambda tilt: pair(tilt)[-1] / np.log(1e6) ** 2,
        "ntp.thm2.degenerate-power": lambda tilt: 2 + power(PAIR_TIMES, pair(tilt)),
    },
)


STRICT = Family(
    TABLE,
    {
        "a multiplier of zero": tilted_pair(0.0),
        "a tiny multiplier": tilted_pair(1e-6),
        "two multipliers of zero": table_of(
            [[1.0, 0.0], [-1.0, -1.0], [-1.0, -2.0]], [[1, 0], [0, 1], [0, 1]]
        ),
    },
    {"ntp.thm2.strict": lambda table: complementarity_gap(table, solve_ntp_svm(table, tol=1e-12))},
)


def last_losses(shares):
    rates, rng = np.array(shares) * stability_edge(TABLE), np.random.default_rng(4)
    return [TABLE.excess(W) for W in last_decoders(TABLE, rates, steps=300, rng=rng)]


STEPS = Family(
    [0.05, 0.2, 0.5, 0.9],
    {
        "steps that become shorter": [0.9, 0.5, 0.2, 0.05],
        "a step beyond the edge": [0.2, 0.5, 0.9, 3.0],
        "equal steps": [0.5, 0.5, 0.5, 0.5],
    },
    {"ntp.thm2.longer-steps": last_losses},
)
FAMILIES = [FLOW, DESCENT, planar_family(), SPHERE, DEGENERATE, STRICT, STEPS]
