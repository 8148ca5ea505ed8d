import itertools

import pytest
import torch

from ntpcompanion.mlm.training.distributed import Processes, checked_device, joined


def test_one_process_takes_all():
    assert list(Processes().shard(3)) == [0, 1, 2]
    assert float(Processes().mean(torch.tensor(2.5))) == 2.5


def test_processes_share_every_micro_batch_once():
    shares = [list(Processes(rank, 3).shard(6)) for rank in range(3)]
    assert sorted(itertools.chain(*shares)) == list(range(6))
    assert {len(share) for share in shares} == {2}
    with pytest.raises(
        ValueError,
        match=(
            r"2 processes cannot share 1 micro-batches evenly. Let `micro_batch` be `batch_size` "
            r"divided by 2"
        ),
    ):
        Processes(0, 2).shard(1)


def test_without_torchrun_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined("cpu") as (processes, device):
        assert (processes, device) == (Processes(0, 1), torch.device("cpu"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused():
    assert checked_device("auto") == torch.device("cpu")
    with pytest.raises(
        ValueError, match=r"`device`: there is no 'cuda' here \(.+\). Use 'cpu' or 'auto'"
    ):
        checked_device("cuda")
    with pytest.raises(ValueError, match="`device`: there is no 'gpu' here"):
        checked_device("gpu")
