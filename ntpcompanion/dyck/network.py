"""The transformer of section 6 as a torch module, for autograd and full Hessians."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ntpcompanion.dyck.bracket_transformer import Parameters


class Network(nn.Module):
    """The same transformer as a float64 torch module, for autograd and full Hessians; parameters in
    the order W_Q, W_K, W_V, u.

    Examples
    --------
    >>> from ntpcompanion.dyck import Network, masked_support, transferable
    >>> import torch
    >>> network = Network(transferable(4))
    >>> inputs, targets = masked_support(4, "random")
    >>> outputs = network(torch.tensor(inputs, dtype=torch.float64))
    >>> bool((outputs - torch.tensor(targets)).abs().max() < 1e-12)
    True
    """

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        for name, value in vars(parameters).items():
            self.register_parameter(name, nn.Parameter(torch.tensor(value)))

    def forward(self, inputs: Float[Tensor, "N T d"]) -> Float[Tensor, " N"]:
        """f_θ(x) for inputs (N, T, 2T), float64."""
        queries, keys = inputs[:, 0] @ self.W_Q.T, inputs @ self.W_K.T
        attention = torch.einsum("ntd,nd->nt", keys, queries).softmax(-1)
        h = torch.einsum("nt,ntd->nd", attention, inputs)
        return (h @ self.W_V.T).relu() @ self.u
