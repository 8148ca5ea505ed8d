"""One whole run as a record keeps it: train by name, evaluate on the way, return plain values."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.evaluate import TestSet, draw_test_set, evaluate
from ntpcompanion.mlm.model import parameters_of
from ntpcompanion.mlm.named_plans import LANGUAGE_PLANS, MODEL_PLANS, PAPER_TOKENS, named
from ntpcompanion.mlm.plan import TrainingPlan
from ntpcompanion.mlm.processes import Processes, checked_device
from ntpcompanion.mlm.train import TrainingState, train


def pretrain(
    language: str,
    model: str,
    training: Mapping[str, Any],
    *,
    evaluations: int = 20,
    sentences: int = 2000,
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
    processes: Processes | None = None,
    report: Callable[[dict], None] = lambda point: None,
) -> dict[str, Any]:
    """Train the model of that name on the language of that name, and follow its distance from the
    exact conditionals.

    Parameters
    ----------
    language, model
        keys of LANGUAGE_PLANS and MODEL_PLANS.
    training
        fields of a TrainingPlan.
    evaluations, sentences
        at how many steps, evenly spread on a logarithmic scale, the model is compared on how many
        sentences; the same ones each time.
    device
        as for torch, or "auto" for a GPU where there is one.
    checkpoint
        a folder: a killed run of the same arguments goes on from what it holds.
    processes
        those that share the run (see `joined`); only the first one evaluates, and returns points.
    report
        is given each point of the curve when it is measured.

    Returns
    -------
    dict
        `curve`: points with step, seconds of training, training_loss since the point before (None
        at first), and entropy, kl, kl_stderr in nats; the plans; number of `parameters`; `words`
        seen and `share_of_paper` of the words that the paper trained on.

    Raises
    ------
    ValueError
        an unknown name, or a plan that does not fit.
    """
    spec = named("language", language, LANGUAGE_PLANS)
    shape = replace(named("model", model, MODEL_PLANS), words=spec.words, positions=spec.length)
    plan = training_plan(training)
    here, processes = checked_device(device), processes or Processes()
    if checkpoint:
        checkpoint.mkdir(parents=True, exist_ok=True)
    known = spec.build(here)
    test = draw_test_set(known, sentences, spec.length, plan.seed, here)
    history = _History(checkpoint / "curve.json" if checkpoint else None)
    file = checkpoint / "training.pt" if checkpoint else None
    for state in train(
        shape,
        plan,
        known,
        device=here,
        stops=_stops(plan.steps, evaluations),
        checkpoint=file,
        processes=processes,
    ):
        if not processes.rank and state.step not in history.points:
            report(history.add(_point(state, test)))
    words = float((test.tokens != PADDING).sum() / len(test.tokens)) * state.sentences
    return {
        "language": asdict(spec),
        "model": asdict(shape),
        "training": asdict(plan),
        "device": str(here.type),
        "parameters": parameters_of(state.model),
        "curve": list(history.points.values()),
        "words": round(words),
        "share_of_paper": words / PAPER_TOKENS[spec.family],
    }


def training_plan(values: Mapping[str, Any]) -> TrainingPlan:
    """The plan with these fields. Raises ValueError for a name that is no field, with the nearest
    one, and for what does not fit.
    """
    fields = TrainingPlan.__dataclass_fields__
    for name in values:
        named("training", name, fields)
    if missing := {"steps", "batch"} - set(values):
        raise ValueError(f"`training` must name {' and '.join(sorted(missing))}.")
    return TrainingPlan(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
    )


def _stops(steps: int, evaluations: int) -> list[int]:
    """The start, and steps from a hundredth of all to the last one, each about the same factor
    after the one before.
    """
    return [
        0,
        *np.unique(
            np.geomspace(max(1, steps // 100), steps, max(1, evaluations)).round().astype(int)
        ).tolist(),
    ]


def _point(state: TrainingState, test: TestSet) -> dict[str, Any]:
    measured = evaluate(state.model, test)
    loss = None if state.loss != state.loss else state.loss
    return {"step": state.step, "seconds": state.seconds, "training_loss": loss, **asdict(measured)}


class _History:
    """Points by step, kept in a file so that a run that resumes has those from before."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        kept = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else []
        self.points = {point["step"]: point for point in kept}

    def add(self, point: dict[str, Any]) -> dict[str, Any]:
        self.points[point["step"]] = point
        if self.path:
            temporary = self.path.with_suffix(".tmp")
            temporary.write_text(json.dumps(list(self.points.values())), encoding="utf-8")
            temporary.replace(self.path)
        return point
