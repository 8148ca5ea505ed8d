"""A small transformer as a point of a larger one: the same function with more parameters (Liu et
al. 2023, appendix B).
"""

from typing import Literal, NoReturn

import torch
from torch import Tensor, nn

from ntpcompanion.checks import checked
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.networks.transformer import Transformer
from ntpcompanion.validation import require

# r in "the squared gradient of this group is kʳ times that of the small model"
GRADIENT_POWERS = {
    "released": {
        "words": 1,
        "places": 1,
        "weights": 0,
        "biases": -1,
        "norms": -1,
        "last norm": -1,
        "decoder bias": 0,
    },
    "balanced": {
        "words": 0,
        "places": 0,
        "weights": 0,
        "biases": -1,
        "norms": -1,
        "last norm": 0,
        "decoder bias": 0,
    },
}


@checked
def enlarge(
    model: Transformer,
    plan: ModelPlan,
    scaling: Literal["released", "balanced"],
    *,
    zeros: Literal["all", "outputs"] = "all",
) -> Transformer:
    """A new transformer of shape `plan` with the logits of `model`, k times as wide; `model` is not
    changed.

    Parameters
    ----------
    model
        a `Transformer`.
    plan
        width, heads and inner each k times those of the model, at least as many layers, the same
        words and positions.
    scaling
        of embeddings and last LayerNorm, see the notes: "released" as in the code of the paper,
        "balanced" also keeps their squared gradients.
    zeros
        which parameters of added layers are 0: "all" of them, or those of the two "outputs" (`out`
        and `down`), which is enough to keep the function; the others are then those of the last
        layer of the model, and the outputs have a gradient.

    Returns
    -------
    Transformer
        of shape `plan`.

    Raises
    ------
    ValueError
        a model or a plan of an LSTM, a size without a vocabulary (see `TransformerSize`), sizes
        that do not fit, an unknown choice.

    Notes
    -----
    Every hidden vector of the large model is that of the small one k times over. LayerNorm does not
    see it: mean and variance are the same. Weights W become k × k blocks W/k; biases, gains and the
    two halves of `key_value` are repeated; each head occurs k times, with its own size and so its
    own factor in the softmax. Embeddings E (words, places, CLS) are repeated and divided by s, gain
    and bias of the last LayerNorm repeated and divided by k/s, so that the tied decoder gives
    Σ_copies (E/s)(s h/k) = E h; its own bias is copied.

    Let g be a gradient with respect to a hidden vector of the small model. Each copy gets g/k,
    since E enters once more with each copy and W/k passes it on unchanged. Squared and summed:
    weights k² ‖g xᵀ/k‖² = 1 times as much; biases and gains k ‖g/k‖² = 1/k times. An embedding gets
    δ h s/k from the decoder and s g/k from LN(x/s), hence k (s/k)²: k times for s = k (released),
    once for s = √k (balanced); the last LayerNorm k (1/s)²: 1/k times or once. `GRADIENT_POWERS`
    has the list. What is left at 1/k stays there under every scaling of these copies that keeps the
    weights: gelu(c u) ≠ c gelu(u) fixes the scale of the hidden units, so each has g/k.

    The first LayerNorm adds ε to a variance that is now s² times smaller: its ε is divided by s²,
    which makes the function exact. As ε is not an entry of a state_dict, keep the small model and
    enlarge it again. With ε left at 1e-5 and new embeddings, of variance 8e-4, hidden vectors would
    change by (s² − 1) ε / 2 over the variance: 2% for s = 2.

    Added layers are h ← h + 0. With all parameters 0 only the biases of `out` and `down` have a
    gradient.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import enlarge
    >>> from ntpcompanion.networks import TransformerSize, build_model, parameters_of
    >>> small = build_model(TransformerSize(8, 1, 1).for_sentences(words=6, positions=4), seed=0)
    >>> large = enlarge(small, TransformerSize(16, 2, 2).for_sentences(6, 4), "released")
    >>> parameters_of(small), parameters_of(large)
    (1022, 6854)
    >>> tokens, positions = torch.tensor([[3, -2, 1, 0]]), torch.tensor([[1]])
    >>> torch.allclose(large(tokens, positions), small(tokens, positions), atol=1e-5)
    True
    """
    k = _factor(model.plan, plan)
    shrink = k if scaling == "released" else k**0.5
    state = {name: _repeated(name, value, k, shrink) for name, value in model.state_dict().items()}
    last = f"blocks.{model.plan.layers - 1}."
    for layer in range(model.plan.layers, plan.layers):
        for name in [name.removeprefix(last) for name in state if name.startswith(last)]:
            copied = zeros == "outputs" and not name.startswith(("out.", "down."))
            state[f"blocks.{layer}.{name}"] = (
                state[last + name].clone() if copied else torch.zeros_like(state[last + name])
            )
    large = build_model(plan, 0, "meta", causal=model.causal)
    large.load_state_dict(state, assign=True)
    large.first_norm.eps = model.first_norm.eps / shrink**2
    return large


def _repeated(name: str, value: Tensor, k: int, shrink: float) -> Tensor:
    """A parameter of the small model as one of the large model."""
    if name == "bias":
        return value.clone()
    if name in ("words.weight", "places.weight"):
        return value.repeat(1, k) / shrink
    halves = value.chunk(2) if "key_value" in name else (value,)  # keys stand before values
    if value.ndim == 2:
        return torch.cat([half.repeat(k, k) / k for half in halves])
    return torch.cat([half.repeat(k) for half in halves]) * (
        shrink / k if name.startswith("last_norm") else 1.0
    )


@checked
def parameter_groups(model: Transformer) -> dict[str, list[nn.Parameter]]:
    """The parameters of a transformer by what an enlargement does to their squared gradients, each
    in one group.

    "words" and "places" (embeddings), "weights" and "biases" of linear maps, "norms" (gains and
    biases of every LayerNorm but the last), "last norm", "decoder bias". Raises ValueError for an
    LSTM.
    """
    groups: dict[str, list[nn.Parameter]] = {name: [] for name in GRADIENT_POWERS["released"]}
    for name, parameter in model.named_parameters():
        groups[_group(name)].append(parameter)
    return groups


def _group(name: str) -> str:
    if name == "bias":
        return "decoder bias"
    module, kind = name.split(".")[-2:]
    if module in ("words", "places"):
        return module
    if "norm" in module:
        return "last norm" if module == "last_norm" else "norms"
    return "weights" if kind == "weight" else "biases"


def _factor(small: ModelPlan, large: ModelPlan) -> int:
    """How many times wider the large plan is. Raises ValueError unless everything else fits."""
    require(large.kind == small.kind, f"`plan` must be of the kind {small.kind}, got {large.kind}.")
    k, rest = divmod(large.width, small.width)
    factors = {"heads": k, "inner": k, "words": 1, "positions": 1}
    if rest or not k:
        _reject("width", f"a multiple of {small.width}, that", large)
    for name, factor in factors.items():
        wanted = factor * getattr(small, name)
        if getattr(large, name) != wanted:
            _reject(name, f"{wanted}, {factor} times that", large)
    if large.layers < small.layers:
        _reject("layers", f"at least {small.layers}, those", large)
    return k


def _reject(name: str, wanted: str, plan: ModelPlan) -> NoReturn:
    got = getattr(plan, name)
    raise ValueError(f"`{name}` of the plan must be {wanted} of the model, got {got}.")
