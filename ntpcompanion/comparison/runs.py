"""Whole runs, as a record keeps them: pre-train, go on with SGD or against adversaries, measure
everything alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ntpcompanion.comparison.yardstick import (
    Yardstick,
    draw_yardstick,
    fine_tuned,
    fisher_of,
    measured,
    reference_lines,
    value_and_error,
)
from ntpcompanion.mlm.adversarial import AdversarialPlan, train_adversarially
from ntpcompanion.mlm.continued import ContinuedState, train_on
from ntpcompanion.mlm.enlarge import GRADIENT_POWERS, enlarge
from ntpcompanion.mlm.model import MaskedLM, build_model, parameters_of
from ntpcompanion.mlm.named_plans import LANGUAGE_PLANS, named
from ntpcompanion.mlm.plan import LanguagePlan, ModelPlan
from ntpcompanion.mlm.pretraining import training_plan
from ntpcompanion.mlm.probe import ProbePlan
from ntpcompanion.mlm.processes import checked_device


def compare(
    language: str,
    shape: Mapping[str, int],
    training: Mapping[str, Any],
    *,
    seed: int,
    places: Sequence[int],
    examples: Sequence[int],
    probe: Mapping[str, Any],
    yardstick: Mapping[str, Any],
    sentences: int = 4000,
    evaluations: int = 6,
    sgd: Mapping[str, Any] | None = None,
    attack: Mapping[str, Any] | None = None,
    adversaries: Sequence[Mapping[str, Any]] = (),
    fine_tuning: Mapping[str, Any] | None = None,
    enlarged: Mapping[str, int] | None = None,
    lines: bool = True,
    device: str = "cpu",
) -> dict[str, Any]:
    """Pre-train one model, follow what it is worth downstream, and go on from it with SGD and
    against adversaries; one record.

    Parameters
    ----------
    language
        a key of LANGUAGE_PLANS; its tables are the same for every seed.
    shape
        width, layers and heads of a transformer; its MLPs are 4 times as wide.
    training, probe, yardstick
        fields of the TrainingPlan, the ProbePlan and the Yardstick.
    seed
        of parameters, sentences, masks, tasks and test set.
    places, examples
        the tasks (see `draw_task`), and how many examples each has to train on, and to test on.
    sentences, evaluations
        of the test set; at how many steps the pre-training is measured, the start included.
    sgd
        fields of the TrainingPlan of a run of SGD from the last parameters, measured at four steps.
    attack, adversaries
        fields of the TrainingPlan of runs from the last parameters, and of the AdversarialPlan of
        each; they attack the first of the places. One of weight 0 is what the others have to be
        compared with: the same steps without an adversary.
    fine_tuning
        fields of the ProbePlan with which the pre-trained and the attacked models are fine-tuned on
        that place; None leaves it out.
    enlarged
        the shape of a larger transformer, in which the pre-trained one is embedded with both
        scalings to measure its Fisher trace there.
    lines
        whether to measure what accuracies are compared with; it is the same for models of one
        language and seed.
    device
        as for torch, or "auto" for a GPU where there is one.

    Returns
    -------
    dict
        `points`: rows as `measured` returns them, with `phase` ("pretraining", "sgd",
        "adversarial") and step; `lines` of `reference_lines`, or none; `enlarged` by scaling;
        `parameters`; `device`.

    Raises
    ------
    ValueError
        an unknown name, or a plan that does not fit.
    """
    spec = named("language", language, LANGUAGE_PLANS)
    plan, here = replace(training_plan(training), seed=seed), checked_device(device)
    known = spec.build(here)
    model_plan = _transformer(shape, spec)
    measure = draw_yardstick(
        known, spec.length, places, examples, sentences, ProbePlan(**probe), seed, here, **yardstick
    )
    tuning = ProbePlan(**fine_tuning) if fine_tuning else None

    def row(
        phase: str, state: ContinuedState, plan_of_head: ProbePlan | None = None, **more: float
    ) -> dict[str, Any]:
        found = {
            "phase": phase,
            "step": state.step,
            "seconds": state.seconds,
            **more,
            **measured(state.model, measure),
        }
        if plan_of_head:
            found["fine_tuned"] = list(
                fine_tuned(state.model, measure, places[0], plan_of_head).accuracies
            )
        return found

    stops = [
        0,
        *np.geomspace(plan.steps, max(1, plan.steps // 30), evaluations - 1)
        .round()
        .astype(int)
        .tolist(),
    ]
    points = []
    for state in train_on(model_plan, plan, known, stops=stops, device=here):
        points.append(row("pretraining", state, tuning if state.step == plan.steps else None))
    start = {name: value.clone() for name, value in state.model.state_dict().items()}
    traces = _embedded(state.model, enlarged, spec, measure)
    if sgd:
        noisy = replace(training_plan(sgd), optimizer="sgd", seed=seed + 1)
        quarters = [noisy.steps * k // 4 for k in (1, 2, 3)]
        points += [
            row("sgd", state)
            for state in train_on(
                model_plan, noisy, known, start=start, stops=quarters, device=here
            )
        ]
    for fields in adversaries:
        hostile, adversary = (
            replace(training_plan(attack), seed=seed + 2),
            AdversarialPlan(**fields),
        )
        *_, state = train_adversarially(
            model_plan,
            hostile,
            known,
            measure.tasks[places[0]].train,
            adversary,
            start=start,
            device=here,
        )
        points.append(
            row("adversarial", state, tuning, weight=adversary.weight, validation=state.term)
        )
    compared_with = reference_lines(known, measure) if lines else {}
    size = parameters_of(build_model(model_plan, 0, "meta"))
    return {
        "points": points,
        "lines": compared_with,
        "enlarged": traces,
        "parameters": size,
        "device": here.type,
    }


def _transformer(shape: Mapping[str, int], spec: LanguagePlan) -> ModelPlan:
    return ModelPlan(
        "transformer", **shape, inner=4 * shape["width"], words=spec.words, positions=spec.length
    )


def _embedded(
    model: MaskedLM, shape: Mapping[str, int] | None, spec: LanguagePlan, yardstick: Yardstick
) -> dict[str, dict[str, float]]:
    """The Fisher trace of a model inside a larger one, by scaling."""
    if not shape:
        return {}
    large = {
        scaling: enlarge(model, _transformer(shape, spec), scaling) for scaling in GRADIENT_POWERS
    }
    return {
        scaling: value_and_error("fisher", fisher_of(inside, yardstick))
        for scaling, inside in large.items()
    }
