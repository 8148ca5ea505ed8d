import pytest
import torch

from ntpcompanion.experiments.same_loss.checkpoint_store import Kept
from ntpcompanion.experiments.same_loss.interventions import Arm
from ntpcompanion.networks.stack import initial_stack
from tests.mlm.cases import TRANSFORMER

ARM = Arm("penalty", [0.5], [7], initial_stack(TRANSFORMER, [7]), "loss")


def never():
    raise AssertionError("computed again")


def test_a_state_is_made_once(tmp_path):
    kept = Kept(tmp_path, "plan")
    assert kept.state("a", lambda: {"x": [1.5]})["x"] == [1.5]
    assert kept.state("a", never)["x"] == [1.5]


def test_without_a_folder_nothing_is_kept():
    made = []
    kept = Kept(None, "plan")
    for _ in range(2):
        kept.state("a", lambda: {"n": made.append(1)})
    assert len(made) == 2


def test_arms_come_back_with_their_networks(tmp_path):
    for make in (lambda: [ARM], never):
        (found,) = Kept(tmp_path, "plan").arms("a", TRANSFORMER, "cpu", make)
        assert (found.kind, found.strengths, found.seeds) == ("penalty", [0.5], [7])
        assert found.measured == "loss"
        for name, p in ARM.stack.parameters.items():
            assert torch.equal(p, found.stack.parameters[name])


def test_the_state_of_another_run_is_refused(tmp_path):
    Kept(tmp_path, "plan").state("a", lambda: {"x": 1})
    with pytest.raises(ValueError, match=r"a\.pt is the checkpoint of another plan"):
        Kept(tmp_path, "other").state("a", never)


def test_a_damaged_state_is_refused(tmp_path):
    (tmp_path / "a.pt").write_bytes(b"half")
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        Kept(tmp_path, "plan").state("a", never)
