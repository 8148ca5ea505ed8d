"""Runs of `comparison` as one table, a row for each time that a model was measured."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.comparison import Plan, Point, Result
from ntpcompanion.experiments.evaluation_suite import Measurements, ReferenceAccuracies
from ntpcompanion.experiments.named import name_of


def read_runs(tasks: Iterable[Mapping[str, Any]]) -> list[tuple[Plan, Result]]:
    """Plans and results of tasks as a record keeps them, with `parameters` and `result`.

    Raises
    ------
    ValueError
        a sentence for each field that does not fit.
    """
    return [(Plan.from_json(t["parameters"]), Result.from_json(t["result"])) for t in tasks]


def comparison_table(runs: Iterable[tuple[Plan, Result]]) -> pd.DataFrame:
    """The points of runs, with what they were run with and what they are compared with.

    Returns
    -------
    DataFrame
        language, seed, width; phase, step, kl, fisher and the other numbers of a point; for each
        place p the accuracies `probe p` (mean over the seeds of the probe), `closed form p`, and
        `lookup p`, `chance p` and the other lines; `fine-tuned`, mean over seeds, where it was
        measured. Runs without lines have those of another run of the same language and seed, or
        NaN.
    """
    runs = list(runs)
    lines = {
        (plan.language, plan.seed): dict(_columns(result.lines))
        for plan, result in runs
        if result.lines
    }
    rows = []
    for plan, result in runs:
        tags = {"language": name_of(plan.language), "seed": plan.seed, "width": plan.shape.width}
        compared = lines.get((plan.language, plan.seed), {})
        rows += [{**tags, **table_row(point), **compared} for point in result.points]
    return pd.DataFrame(rows)


def reference_row(found: ReferenceAccuracies) -> dict[str, float]:
    """What accuracies on one task are compared with, by name, means over the seeds of the probe."""
    return {
        name.replace("_closed_form", ", closed form"): float(np.mean(value))
        for name, value in asdict(found).items()
    }


def _columns(lines: Mapping[int, ReferenceAccuracies]) -> Iterator[tuple[str, float]]:
    for place, found in lines.items():
        for name, value in reference_row(found).items():
            yield f"{name} {place}", value


def table_row(found: Measurements) -> dict[str, object]:
    """Measurements of one model as a row of a table: its numbers by name, `probe p` (mean over the
    seeds of the probe) and `closed form p` for each place p, and `fine-tuned`; without those that
    were not made.
    """
    apart = {"accuracies", "closed_form", "fine_tuned"}
    numbers = {
        name: value
        for name, value in asdict(found).items()
        if name not in apart and value is not None
    }
    heads = {f"probe {place}": np.mean(own) for place, own in found.accuracies.items()}
    heads |= {f"closed form {place}": value for place, value in found.closed_form.items()}
    if isinstance(found, Point) and found.fine_tuned:
        heads["fine-tuned"] = np.mean(found.fine_tuned)
    return {**numbers, **heads}
