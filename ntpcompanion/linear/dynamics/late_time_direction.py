"""In which direction a decoder grows late in a run, against gradient flow over the same stretch."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_matrix, as_shaped

# log t between times of the flow, and how far beyond a position it may lie at first.
SPACING, MARGIN = 0.1, 10.0


@dataclass(frozen=True, eq=False)
class Growth:
    """The growth of n runs between two decoders of each, and that of gradient flow.

    `positions` are ⟨W, W^mm⟩ / ‖W^mm‖² of both decoders, and `log_times` the log t at which
    gradient flow has them. `cosine` is that of W^mm with the difference of both decoders,
    `flow_cosine` with that of the flow.
    """

    positions: Float[np.ndarray, "n 2"]
    log_times: Float[np.ndarray, "n 2"]
    cosine: Float[np.ndarray, " n"]
    flow_cosine: Float[np.ndarray, " n"]


def compare_growth(
    table: ContextTable,
    first: ArrayLike,
    last: ArrayLike,
    w_mm: Float[np.ndarray, "V d"],
    *,
    start: Float[np.ndarray, "V d"],
) -> Growth:
    """Compare the growth between two decoders of each of n runs on one table with that of gradient
    flow between the same positions along W^mm.

    Gradient flow grows along W^mm in the limit only. At the same positions it shows what an
    optimizer with its bias would show, so a cosine below 1 is judged against `flow_cosine`. One
    `gradient_flow` from `start`, where the runs started, serves all of them: it is read at times
    0.1 apart in log t, and linear between them. A position that the flow has before t = 1 counts as
    reached there. Raises `ValueError` for positions that do not increase, arrays of other shapes,
    and a table that is not compatible and separable.
    """
    w_mm = as_matrix("w_mm", w_mm, (table.vocab_size, table.dim))
    shape = (None, *w_mm.shape)
    begin = as_shaped("first", first, shape, "a decoder of each run")
    end = as_shaped("last", last, begin.shape, "as many decoders as `first`")
    positions = np.stack([_positions(begin, w_mm), _positions(end, w_mm)], axis=1)
    if not (positions[:, 0] < positions[:, 1]).all():
        raise ValueError(
            "`last` must be farther along `w_mm` than `first` in every run, got positions "
            f"{positions.tolist()}. Take decoders further apart."
        )
    log_times, weights = _flow_beyond(table, positions.max(), w_mm, start)
    along = np.maximum.accumulate(_positions(weights, w_mm))
    times = np.interp(positions, along, log_times)
    grown = _between(times[:, 1], log_times, weights) - _between(times[:, 0], log_times, weights)
    return Growth(
        positions,
        times,
        1 - cosine_distance(end - begin, w_mm),
        1 - cosine_distance(grown, w_mm),
    )


def _positions(
    weights: Float[np.ndarray, "n V d"], w_mm: Float[np.ndarray, "V d"]
) -> Float[np.ndarray, " n"]:
    return np.tensordot(weights, w_mm, 2) / np.vdot(w_mm, w_mm)


def _between(
    times: Float[np.ndarray, " k"],
    log_times: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, "n V d"],
) -> Float[np.ndarray, "k V d"]:
    """The decoders at `times`, linear between those at `log_times`."""
    index = np.interp(times, log_times, np.arange(len(log_times)))
    lower = np.minimum(index.astype(int), len(log_times) - 2)
    part = (index - lower)[:, None, None]
    return weights[lower] * (1 - part) + weights[lower + 1] * part


def _flow_beyond(
    table: ContextTable,
    position: float,
    w_mm: Float[np.ndarray, "V d"],
    start: Float[np.ndarray, "V d"],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n V d"]]:
    """Times and decoders of gradient flow up to beyond a position: it grows by 1 in log t."""
    last = max(position, 0.0) + MARGIN
    while True:
        log_times = np.arange(0.0, last, SPACING)
        weights = gradient_flow(table, log_times, start=start).weights
        if _positions(weights[-1:], w_mm)[0] > position:
            return log_times, weights
        last += MARGIN
