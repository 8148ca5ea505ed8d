"""Networks with their initial parameters."""

import torch
from torch import nn

from ntpcompanion.checks import Device, Positive, Seed, checked, need
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.lstm import BidirectionalLSTM
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.networks.transformer import Transformer

INITIAL_DEVIATION = 0.02  # of the entries of embeddings and weight matrices, as in BERT


@checked(need("causal", "plan.kind != 'lstm' or not causal", "be false for an LSTM"))
def build_model(
    plan: ModelPlan,
    seed: Seed,
    device: Device = "cpu",
    *,
    causal: bool = False,
    deviation: Positive = INITIAL_DEVIATION,
) -> LanguageModel:
    """A model with its initial parameters, float32 on `device`; the same numbers on every device,
    drawn from `seed` alone.

    Matrices and embeddings are N(0, deviation²), gains 1, biases 0; the matrices of an LSTM are
    uniform on ±1/√(hidden units), as PyTorch's. A model on the device "meta" has shapes only.

    Parameters
    ----------
    plan
        the shape.
    seed
        a non-negative integer.
    device
        as for torch.
    causal
        whether a transformer attends to earlier positions only; it has the same parameters.
    deviation
        of the initial matrices and embeddings.

    Returns
    -------
    LanguageModel
        a `Transformer` or a `BidirectionalLSTM`.

    Raises
    ------
    ValueError
        a causal LSTM: ours reads in both directions; a deviation that is not positive and finite;
        what is not a plan, seed, device or flag.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import ModelPlan, build_model
    >>> model = build_model(ModelPlan("lstm", 8, layers=1, words=20, positions=4), seed=0)
    >>> hidden = torch.tensor([[7, -2, 3, 19]])  # −2 is the mask: which word of 0 … 19 is it?
    >>> model(hidden, positions=torch.tensor([[1]])).shape
    torch.Size([1, 1, 20])
    """
    with torch.device("meta"):
        model = _uninitialized(plan, causal)
    if torch.device(device).type == "meta":
        return model
    model = model.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            _initialize(module, generator, deviation)
    return model.to(device)


def _uninitialized(plan: ModelPlan, causal: bool) -> LanguageModel:
    if plan.kind == "transformer":
        return Transformer(plan, causal=causal)
    return BidirectionalLSTM(plan)


def _initialize(module: nn.Module, generator: torch.Generator, deviation: float) -> None:
    match module:
        case nn.LayerNorm():
            module.reset_parameters()
        case nn.Linear():
            module.weight.normal_(0.0, deviation, generator=generator)
            module.bias.zero_()
        case nn.Embedding():
            module.weight.normal_(0.0, deviation, generator=generator)
        case nn.LSTM():
            bound = module.hidden_size**-0.5
            for parameter in module.parameters():
                parameter.uniform_(-bound, bound, generator=generator)
        case LanguageModel():
            module.bias.zero_()


@checked
def parameters_of(model: nn.Module) -> int:
    """The number of trained parameters, each counted once.

    Parameters
    ----------
    model
        any module of torch; a tied decoder has no parameters of its own.

    Returns
    -------
    int
        how many numbers they are.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import parameters_of
    >>> parameters_of(torch.nn.Linear(3, 2))
    8
    """
    return sum(parameter.numel() for parameter in model.parameters())
