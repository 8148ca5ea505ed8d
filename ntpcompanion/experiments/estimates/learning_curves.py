"""Curves of pre-training as tables: excess loss by model, by seed, and of recorded runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from ntpcompanion.experiments.same_loss import pretraining
from ntpcompanion.experiments.tasks import tasks_table
from ntpcompanion.mlm.data.masked_sentences import batch_generator, draw_batch
from ntpcompanion.mlm.evaluation.block_predictor import block_divergence
from ntpcompanion.mlm.evaluation.evaluate import (
    SATURATED,
    draw_test_set,
    drawn_and_expected_losses,
)
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.statistics.effects import Effect, estimate


def curve_table(results: Mapping[str, pretraining.Result]) -> pd.DataFrame:
    """A row for each `model` and point of its curve, with `loss` (entropy plus KL, nats), `log KL`
    and whether it is `saturated`.
    """
    curves = pd.concat(
        {name: pd.DataFrame(map(vars, result.curve)) for name, result in results.items()},
        names=["model"],
    ).reset_index(0)
    curves["loss"] = curves.entropy + curves.kl
    curves["log KL"] = np.log(curves.kl)
    return curves.assign(saturated=_saturated(curves))


def end_table(results: Mapping[str, pretraining.Result]) -> pd.DataFrame:
    """The last point of each model for readers, with its parameters; the column `kl_stderr` is the
    error of the excess loss.
    """
    last = curve_table(results).groupby("model", sort=False).last()
    last.insert(0, "parameters", [result.parameters for result in results.values()])
    names = {"entropy": "floor (nats)", "kl": "excess loss (nats)"}
    columns = ["parameters", "entropy", "kl", "kl_stderr", "saturated"]
    return last[columns].rename(columns=names).reset_index()


def halves_by_seed(
    plan: pretraining.Plan, first: pretraining.Result, seeds: Sequence[int]
) -> pd.DataFrame:
    """The excess loss (nats) after half of the steps and at the `end`, and their ratio, of a run
    for each seed of language and training, beside that of a predictor which knows nothing of the
    context but its `block`; the `first` one is given. The plan measures at half.
    """
    again = [
        plan.model_copy(
            update={
                "language": replace(plan.language, seed=seed),
                "training": replace(plan.training, seed=seed),
                "evaluations": 1,
            }
        )
        for seed in seeds[1:]
    ]
    results, steps = [first, *map(pretraining.run, again)], plan.training.steps
    kl = pd.DataFrame([{point.step: point.kl for point in r.curve} for r in results], [*seeds])
    repeated = pd.DataFrame({"half": kl[steps // 2], "end": kl[steps]})
    repeated["half / end"] = repeated.half / repeated.end
    repeated["block"] = [_beyond_block(each) for each in (plan, *again)]
    return repeated


def _beyond_block(plan: pretraining.Plan) -> float:
    language: Any = plan.language.build()
    test = draw_test_set(language, plan.sentences, language.length, plan.training.seed)
    return float(block_divergence(language, test).mean())


def recorded_runs(tasks: Iterable[Any]) -> pd.DataFrame:
    """A row for each recorded run: the family of its `language`, its `model` in words, fields of
    the result and of the last point, `minutes`, `saturated`, and the `curve` as a table.
    """
    runs = list(tasks)
    recorded = tasks_table(runs)
    models = [task.plan.model for task in runs]
    recorded["model"] = [f"{m.kind}-{m.width}x{m.layers}" for m in models]
    recorded["language"] = [plan.family for plan in recorded.language]
    recorded = recorded.join(pd.DataFrame(map(vars, recorded.curve.str[-1])))
    recorded["minutes"] = recorded.seconds / 60
    curves: Any = [pd.DataFrame(map(vars, curve)) for curve in recorded.curve]
    return recorded.assign(curve=curves, saturated=_saturated(recorded))


def recorded_table(recorded: pd.DataFrame) -> pd.DataFrame:
    """The `recorded_runs` for readers, with the column `stderr`."""
    table = recorded[["language", "model", "parameters", "minutes"]]
    table = table.replace({"language": {"hmm": "hidden Markov", "pcfg": "grammar"}})
    table["excess loss (nats)"] = recorded.kl
    return table.assign(stderr=recorded.kl_stderr, saturated=recorded.saturated)


def recorded_curves(recorded: pd.DataFrame) -> pd.DataFrame:
    """A row for each point of each of the `recorded_runs`, with their `language` and `model`."""
    rows = recorded[["language", "model", "curve"]].to_numpy().tolist()
    frames = {(language, model): curve for language, model, curve in rows}
    curves: pd.DataFrame = pd.concat(frames, names=["language", "model"])
    return curves.reset_index([0, 1])


def drawn_minus_expected(
    model: LanguageModel, plan: pretraining.Plan, seed: int, batches: int = 20
) -> Effect:
    """The loss on drawn words minus its exact expectation, over fresh sentences: as many in each
    batch as the plan has test sentences. Nats, 0 up to the error if both sides are right.
    """
    language, differences = plan.language.build(), []
    for k in range(batches):
        generator = batch_generator(seed, "evaluation", k)
        size = plan.sentences, plan.language.length
        drawn, expected = drawn_and_expected_losses(
            model, language, draw_batch(language, *size, 0.0, generator)
        )
        differences.append(drawn - expected)
    each = torch.cat(differences)
    return estimate(float(each.mean()), float(each.std() / len(each) ** 0.5), len(each))


def _saturated(points: pd.DataFrame) -> pd.Series:
    return points.kl + 2 * points.kl_stderr < SATURATED
