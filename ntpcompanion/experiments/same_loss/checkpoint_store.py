"""Parts of a long experiment on disk, so that a run that was killed goes on after the last one."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ntpcompanion.experiments.same_loss.interventions import Arm
from ntpcompanion.mlm.training.checkpoints import load_checkpoint, save_checkpoint
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.networks.stack import Stack
from ntpcompanion.validation import check_instance


class Kept:
    """What was computed before, or is computed now and kept.

    Parameters
    ----------
    folder
        where; None keeps nothing.
    belongs_to
        what tells this run from others, such as its plan.
    """

    def __init__(self, folder: Path | None, belongs_to: str) -> None:
        if folder is not None:
            check_instance("checkpoint", folder, Path)
        self._folder, self._identity = folder, belongs_to

    def state(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A dict of tensors, numbers, texts, lists and dicts of that name. Raises ValueError for a
        file of another run, or a damaged one.
        """
        if self._folder is None:
            return make()
        path = self._folder / f"{name}.pt"
        found = load_checkpoint(path, self._identity)
        if found is None:
            found = {**make(), "identity": self._identity}
            save_checkpoint(path, found)
        return found

    def arms(
        self, name: str, plan: ModelPlan, device: str, make: Callable[[], Iterable[Arm]]
    ) -> list[Arm]:
        """Trained models of that name, on the device."""
        state = self.state(name, lambda: {"arms": [_state_of(arm) for arm in make()]})
        return [
            Arm(
                arm["kind"],
                arm["strengths"],
                arm["seeds"],
                Stack(plan, {key: p.to(device) for key, p in arm["parameters"].items()}),
                measured=arm["measured"],
            )
            for arm in state["arms"]
        ]


def _state_of(arm: Arm) -> dict[str, Any]:
    return {
        "kind": arm.kind,
        "strengths": arm.strengths,
        "seeds": arm.seeds,
        "measured": arm.measured,
        "parameters": {name: p.detach() for name, p in arm.stack.parameters.items()},
    }
