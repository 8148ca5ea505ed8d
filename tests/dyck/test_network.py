import numpy as np
import pytest
import torch

from ntpcompanion.dyck.bracket_transformer import gradients, predict
from ntpcompanion.dyck.network import Network
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.flatness.hessian import FlatModule
from tests.dyck.cases import SIGNS, attentive


def test_the_torch_module_is_the_same_function_with_the_same_parameters(rng):
    parameters, (inputs, _) = attentive(6, 5, rng), masked_support(6, "random")
    network = Network(parameters)
    assert network(torch.tensor(inputs).double()).detach().numpy() == pytest.approx(
        predict(parameters, inputs), rel=1e-12
    )
    expected = np.concatenate(
        [parameters.W_Q.ravel(), parameters.W_K.ravel(), parameters.W_V.ravel(), parameters.u]
    )
    assert FlatModule(network).theta.numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("sign", SIGNS)
def test_gradients_are_those_of_autograd(sign, rng):
    parameters, (inputs, _) = attentive(4, 3, rng), masked_support(4, sign)
    flat = FlatModule(Network(parameters))
    expected = torch.func.jacrev(lambda theta: flat(theta, torch.tensor(inputs).double()))(
        flat.theta
    ).numpy()
    found = gradients(parameters, inputs)
    assert found.flat() == pytest.approx(expected, rel=1e-10, abs=1e-13)
    sizes = np.cumsum([64, 64, 24])
    expected_norms = np.stack([(part**2).sum(1) for part in np.split(expected, sizes, axis=1)], 1)
    assert found.squared_norms() == pytest.approx(expected_norms, rel=1e-10)
    assert (found.squared_norms().max(0) > 0.01).all()
