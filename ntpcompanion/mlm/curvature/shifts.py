"""Shifts of a network's parameters that leave its logits as they are, and that no rescaling undoes.

A decoder bias can take up what a LayerNorm's bias adds to every vector. Features move by one
constant, which a centred probe does not see; squared gradients of the decoder grow with it.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.checks import check_named_tensors
from ntpcompanion.mlm.curvature.rescaling import layers_of
from ntpcompanion.mlm.data.mlm_checks import check_numbers
from ntpcompanion.networks.language_model import FIRST_WORD
from ntpcompanion.validation import is_tensor


def shift_last_norm(
    parameters: Mapping[str, Tensor], shift: Float[Tensor, "*models width"]
) -> dict[str, Tensor]:
    """The parameters of a transformer after the bias of its last LayerNorm has grown by c and that
    of its decoder by -E c, E the rows of embeddings that belong to words: E (h + c) - E c = E h.

    Parameters
    ----------
    parameters
        of a `Transformer` by name, all with the leading axes of `shift`.
    shift
        (…, width), c; zeros change nothing.

    Returns
    -------
    dict
        new parameters under the same names.

    Raises
    ------
    ValueError
        parameters of another network, a shift of another width.

    Notes
    -----
    The gradient of log f_v with respect to E has the squared norm ‖1_v - f‖² ‖h‖², so the trace of
    the Fisher information grows with ‖c‖². `balanced_trace` is a minimum over scales only.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm.curvature.shifts import shift_last_norm
    >>> from ntpcompanion.networks import Stack, TransformerSize, initial_stack
    >>> shape = TransformerSize(8, layers=1, heads=1).for_sentences(words=6, positions=4)
    >>> stack = initial_stack(shape, seeds=[0])
    >>> moved = Stack(shape, shift_last_norm(stack.parameters, torch.full((1, 8), 3.0)))
    >>> tokens, at = torch.tensor([[3, -2, 1, 0]]), torch.tensor([[1]])
    >>> torch.allclose(moved.logits(tokens, at), stack.logits(tokens, at), atol=1e-4)
    True
    """
    check_named_tensors("parameters", parameters)
    layers_of(parameters, "parameters")
    bias, decoder = parameters["last_norm.bias"], parameters["bias"]
    check_numbers("shift", shift, tuple(shift.shape) if is_tensor(shift) else (None,))
    if shift.shape != bias.shape:
        raise ValueError(
            f"`shift` must have the shape {tuple(bias.shape)} of `last_norm.bias`, got "
            f"{tuple(shift.shape)}. Pass one number for each column of the features."
        )
    c = shift.to(bias)
    words = parameters["words.weight"][..., FIRST_WORD : FIRST_WORD + decoder.shape[-1], :]
    taken_up = torch.einsum("...vd,...d->...v", words, c)
    return {**parameters, "last_norm.bias": bias + c, "bias": decoder - taken_up}
