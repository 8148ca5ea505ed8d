import pytest
import torch

from ntpcompanion.mlm.training.cuda_graph import as_cuda_graph


def test_on_a_cpu_nothing_is_captured():
    def compute(x):
        return x + 1

    assert as_cuda_graph(compute, torch.device("cpu")) is compute


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_replayed_computation_follows_its_inputs_and_what_changes_in_place():
    device = torch.device("cuda")
    weight = torch.ones(3, device=device)
    replayed = as_cuda_graph(lambda x: (x * weight).sum(), device)
    x = torch.arange(3.0, device=device)
    assert float(replayed(x)) == 3.0
    weight.mul_(2)
    assert float(replayed(x + 1)) == 12.0
