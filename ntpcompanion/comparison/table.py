"""Recorded runs as one table, a row for each time that a model was measured."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd


def recorded_table(tasks: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The points of the runs that `compare` returned, with what they were run with and what they
    are compared with.

    Parameters
    ----------
    tasks
        as a record keeps them: `parameters` of `compare`, and `result`.

    Returns
    -------
    DataFrame
        language, seed, width; phase, step, kl, fisher and the other numbers of a point; for each
        place p the shares `probe p` (mean over the seeds of the probe), `closed form p`, and
        `lookup p`, `chance p` and the other lines; `fine-tuned`, mean over seeds, where it was
        measured. Runs without lines have those of another run of the same language and seed, or
        NaN.
    """
    runs = [
        ({name: task["parameters"][name] for name in ("language", "seed")}, task) for task in tasks
    ]
    lines = {
        tuple(case.values()): task["result"]["lines"]
        for case, task in runs
        if task["result"]["lines"]
    }
    rows = []
    for case, task in runs:
        own = lines.get(tuple(case.values()), {})
        compared = {
            f"{name} {place}": np.mean(value)
            for place, found in own.items()
            for name, value in found.items()
        }
        tags = {**case, "width": task["parameters"]["shape"]["width"]}
        for point in task["result"]["points"]:
            numbers = {
                name: value for name, value in point.items() if not isinstance(value, (dict, list))
            }
            heads = {
                f"probe {place}": np.mean(values) for place, values in point["accuracies"].items()
            }
            heads |= {
                f"closed form {place}": value for place, value in point["closed_form"].items()
            }
            tuned = {"fine-tuned": np.mean(point["fine_tuned"])} if "fine_tuned" in point else {}
            rows.append({**tags, **numbers, **heads, **tuned, **compared})
    return pd.DataFrame(rows)
