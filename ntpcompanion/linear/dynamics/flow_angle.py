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

    If W(t) = W^mm log t + W* + ρ + o(1), with ρ orthogonal to F, then 1 − cos is (|W*|² + |ρ|² −
    ⟨ρ, W^mm⟩² / |W^mm|²) / (2 |W^mm|² log² t). The offset ρ is read from one decoder; W* is
    computed from the table. Nothing is read at the times that are predicted, so a flow with another
    limit, another rate or another constant does not meet its prediction.

    Parameters
    ----------
    table
        the contexts: compatible.
    weights
        (V, d), the decoder W(t) at `log_time`, late enough for ρ to have settled.
    log_time
        log t of this decoder, positive.
    w_mm
        (V, d), the limit of the direction, W^mm.
    later
        (n,), the log t at which the angle is predicted, positive.

    Returns
    -------
    (n,) array
        the predicted 1 − cos.

    Raises
    ------
    ValueError
        arrays of another shape, a time that is not positive, or a table that is not compatible.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, gradient_flow
    >>> from ntpcompanion.linear.dynamics.flow_angle import predict_distance
    >>> p = np.array([[0.75, 0.25, 0.0]])  # distribution of the next token
    >>> table = ContextTable(np.ones((1, 1)), p, np.ones(1))
    >>> w_mm = np.array([[1.0], [1.0], [-2.0]]) / 3
    >>> (weights,) = gradient_flow(table, [100.0]).weights
    >>> (predict_distance(table, weights, 100.0, w_mm, [1000.0]) * 1000**2).round(3).tolist()
    [0.453]
    """
    shape = (table.vocab_size, table.dim)
    weights, w_mm = as_matrix("weights", weights, shape), as_matrix("w_mm", w_mm, shape)
    later = as_array("later", later)
    finite = require_compatible(table).finite_part
    offset = weights - project_onto_F(table, weights) - log_time * w_mm
    size = np.linalg.norm(w_mm)
    across = np.sum(finite**2) + np.sum(offset**2) - (np.vdot(offset, w_mm) / size) ** 2
    return across / (2 * size**2 * later**2)
