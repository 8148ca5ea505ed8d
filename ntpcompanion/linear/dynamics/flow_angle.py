"""The angle that a gradient flow still has to its limit, predicted from one earlier decoder."""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Between, Positive, Shape, checked
from ntpcompanion.linear.separability.compatibility import require_compatible
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array, as_matrix


@checked
def predict_distance(
    table: ContextTable,
    weights: ArrayLike,
    log_time: Positive,
    w_mm: Float[np.ndarray, "V d"],
    later: Annotated[ArrayLike, Shape("n"), Between(0, np.inf)],
) -> Float[np.ndarray, " n"]:
    """1 − cos(W(t), W^mm) at later times of a gradient flow, to leading order in 1 / log t.

    If W(t) = W^mm log t + W* + ρ + o(1), with ρ orthogonal to F, then 1 − cos is (‖W*‖² + ‖ρ‖² −
    ⟨ρ, W^mm⟩² / ‖W^mm‖²) / (2 ‖W^mm‖² log² t). The offset ρ is read from one decoder, `weights` at
    `log_time`, late enough for ρ to have settled; W* is computed from the table. Nothing is read at
    the times that are predicted, log t in `later`, so a flow with another limit, another rate or
    another constant does not meet its prediction. Raises `ValueError` for a table that is not
    compatible, arrays of another shape, and a time that is not positive.
    """
    shape = (table.vocab_size, table.dim)
    weights, w_mm = as_matrix("weights", weights, shape), as_matrix("w_mm", w_mm, shape)
    later = as_array("later", later)
    finite = require_compatible(table).finite_part
    offset = weights - project_onto_F(table, weights) - log_time * w_mm
    size = np.linalg.norm(w_mm)
    across = np.sum(finite**2) + np.sum(offset**2) - (np.vdot(offset, w_mm) / size) ** 2
    return across / (2 * size**2 * later**2)
