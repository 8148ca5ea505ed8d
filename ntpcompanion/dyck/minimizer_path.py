"""Along zero loss from one solution to a flatter one: the flow of the trace, label noise, a
penalty; and plain SGD, which stays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from ntpcompanion.checks import NotNegative, Positive, Range, Size, checked
from ntpcompanion.dyck.bracket_transformer import Parameters, uniform_attention
from ntpcompanion.dyck.sentences import MaskSign
from ntpcompanion.dyck.value_layer import ValueLayer

Snapshots = Annotated[int, Range(2)]


@dataclass(frozen=True, eq=False)
class ValleyPath:
    """States along a path, from the start to the last, all with uniform attention (W_Q = W_K = 0).

    Fields
    ------
    steps
        (k,), numbers of steps.
    times
        (k,), the time t of the flow dθ/dt = −P ∇E‖∇f‖² that they correspond to; not a number for
        Adam, which follows another.
    loss
        (k,), E(f − f*)² of the run itself.
    W_V, u
        (k, m, 2T) and (k, m), the point of zero loss near the run that Gauss–Newton steps reach:
        its trace can be held against the bound.
    squared_gradient
        (k,), E‖∇f‖² there, at least `bound.lower_bound`.
    alignment
        (k,), the mean there of the cosine without sign of w_j and (1; 0), over neurons weighted by
        their part ‖u_j‖ E σ(w_j·h) of the output.
    """

    steps: Int[np.ndarray, " k"]
    times: Float[np.ndarray, " k"]
    loss: Float[np.ndarray, " k"]
    W_V: Float[np.ndarray, "k m d"]
    u: Float[np.ndarray, "k m"]
    squared_gradient: Float[np.ndarray, " k"]
    alignment: Float[np.ndarray, " k"]

    def parameters(self, index: int = -1) -> Parameters:
        """The parameters of one of the kept states, by default the last."""
        return uniform_attention(self.W_V[index], self.u[index])


@checked
def follow_trace_flow(
    start: Parameters,
    horizon: Positive,
    *,
    rate: Positive = 0.1,
    mask_sign: MaskSign = "random",
    snapshots: Snapshots = 21,
) -> ValleyPath:
    """dθ/dt = −P ∇E‖∇f‖² from 0 to `horizon`, P the projection on the directions that do not change
    f: the flow of the trace at zero loss.

    Parameters
    ----------
    start
        uniform attention; Gauss–Newton steps take it to zero loss first.
    horizon
        the end of the time, positive.
    rate
        length of an Euler step, after each of which Gauss–Newton steps lead back to zero loss; it
        is shortened to divide the horizon.
    mask_sign
        "random" or "fixed", as in `masked_support`.
    snapshots
        so many states are kept, evenly spaced, the first and the last among them; fewer if there
        are fewer steps.

    Returns
    -------
    ValleyPath
        times, parameters, losses and E‖∇f‖² along the path.

    Raises
    ------
    ValueError
        attention that is not uniform, a horizon or rate that is not positive and finite, fewer than
        2 snapshots.
    RuntimeError
        no zero loss near the start, or near a step.

    Notes
    -----
    ∇ holds the indicators 1{w_j·h > 0} fixed, and the trace jumps where one changes. A step solves
    two or three systems of N equations: 0.5 ms at T = 4 with 64 neurons, 8 ms at T = 6 with 256.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import follow_trace_flow, random_features
    >>> start = random_features(4, 64, np.random.default_rng(0))
    >>> path = follow_trace_flow(start, horizon=1.0, snapshots=3)
    >>> bool(np.all(np.diff(path.squared_gradient) < 0)), bool(path.loss.max() < 1e-20)
    (True, True)
    """
    layer = ValueLayer(start, mask_sign)
    steps = int(np.ceil(horizon / rate))

    def step() -> None:
        layer.theta[:] = layer.back(
            layer.theta
            - horizon / steps * layer.along_valley(layer.theta, layer.slope(layer.theta))
        )

    return _repeat(layer, step, steps, horizon / steps, snapshots)


@checked
def follow_label_noise(
    start: Parameters,
    learning_rate: Positive,
    steps: Size,
    rng: np.random.Generator,
    *,
    label_noise: NotNegative,
    batch_size: Size = 1,
    mask_sign: MaskSign = "random",
    snapshots: Snapshots = 21,
) -> ValleyPath:
    """θ ← θ − η ∇ mean_i (f(x_i) − f*(x_i) − σ ξ_i)², a fresh batch a step: at zero loss the
    covariance is (2σ²/B) ∇²L, so that the drift is that of `follow_trace_flow` with t = η² σ²/B a
    step. Raises ValueError for attention that is not uniform or arguments out of range;
    RuntimeError for no zero loss near the start or a kept state: the steps, or the noise, are too
    large.
    """
    layer = ValueLayer(start, mask_sign)

    def step() -> None:
        rows = rng.integers(len(layer.targets), size=batch_size)
        errors = layer.residual(layer.theta, rows) - label_noise * rng.standard_normal(batch_size)
        layer.theta -= learning_rate * 2 / batch_size * layer.pull(layer.theta, errors, rows)

    return _repeat(layer, step, steps, learning_rate**2 * label_noise**2 / batch_size, snapshots)


@checked
def follow_regularized_adam(
    start: Parameters,
    learning_rate: Positive,
    steps: Size,
    *,
    penalty: Positive = 1e-2,
    mask_sign: MaskSign = "random",
    snapshots: Snapshots = 21,
) -> ValleyPath:
    """`torch.optim.Adam` on E(f − f*)² + λ E‖∇f‖², all inputs at every step; learning rate and λ
    (`penalty` at first) fall linearly to zero. Raises ValueError for attention that is not uniform
    or arguments out of range; RuntimeError for no zero loss near the start or a kept state.
    """
    import torch  # takes a second, for Adam only

    layer = ValueLayer(start, mask_sign)
    # one memory: Adam changes the layer's parameters in place
    theta = torch.from_numpy(layer.theta)
    adam = torch.optim.Adam([theta], lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, steps)

    def step() -> None:
        weight = penalty * schedule.get_last_lr()[0] / learning_rate
        fit = layer.pull(layer.theta, 2 * layer.residual(layer.theta) / len(layer.targets))
        theta.grad = torch.from_numpy(fit + weight * layer.slope(layer.theta))
        adam.step()
        schedule.step()

    return _repeat(layer, step, steps, np.nan, snapshots)


def _repeat(
    layer: ValueLayer, step: Callable[[], None], steps: int, time: float, snapshots: int
) -> ValleyPath:
    """Take `steps` steps, each of which changes the parameters of the layer in place and lasts for
    `time`.
    """
    marks = np.unique(np.linspace(0, steps, snapshots).round().astype(int))
    layer.theta[:] = layer.back(layer.theta)
    states = [_state(layer)]
    for count in np.diff(marks):
        for _ in range(count):
            step()
        states.append(_state(layer))
    return ValleyPath(marks, time * marks, *(np.array(part) for part in zip(*states, strict=True)))


def _state(layer: ValueLayer) -> tuple[float, np.ndarray, np.ndarray, float, float]:
    """The loss; then W_V, u, E‖∇f‖² and the alignment at the point of zero loss nearby."""
    minimizer = layer.back(layer.theta)
    W, u = (part.copy() for part in layer.split(minimizer))
    return (
        float(np.mean(layer.residual(layer.theta) ** 2)),
        W,
        u,
        layer.squared_gradient(minimizer),
        layer.alignment(minimizer),
    )
