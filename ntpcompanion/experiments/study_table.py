"""Runs of `downstream` as one table, and the effects that the chapters read from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.downstream import Plan, Result
from ntpcompanion.experiments.effects import Effect, paired_effect, slope_within_seeds

PROBES = ("full", "projected", "few_shot", "masked", "heads", "halfway", "tuned")
# what each kind of arm is compared with: the same steps without what is asked about
BASELINES = {"penalty": ("penalty", 0.0), "annealed": ("annealed", 0.0)}
SATURATED = ("saturated", 0.0)


def read_study(tasks: Iterable[Mapping[str, Any]]) -> list[tuple[Plan, Result]]:
    """Plans and results of tasks as a record keeps them, with `parameters` and `result`.

    Raises
    ------
    ValueError
        a sentence for each field that does not fit.
    """
    return [(Plan.from_json(t["parameters"]), Result.from_json(t["result"])) for t in tasks]


def study_table(results: Iterable[Result], learnable_gap: float) -> pd.DataFrame:
    """A row for each model and task.

    Parameters
    ----------
    results
        of one language. A model that several of them have measured is taken once.
    learnable_gap
        of the language, in nats, see `ContextGaps`.

    Returns
    -------
    DataFrame
        kind, strength, seed, width; excess and its stderr in nats, and `share` = 100 excess /
        learnable_gap; trace, balanced, slope, slope_stderr; place (NaN for a model whose features
        were not probed) and the accuracies of PROBES in per cent (NaN where not measured).

    Raises
    ------
    ValueError
        results without any model.

    Examples
    --------
    >>> from ntpcompanion.experiments import downstream, study_table
    >>> model = {"strength": 0.0, "width": 8, "excess_stderr": 1e-4, "tasks": {}}
    >>> model |= {"kind": "saturated", "trace": 8.2, "balanced": 2.9}
    >>> models = [{**model, "seed": 0, "excess": 0.002}, {**model, "seed": 1, "excess": 0.004}]
    >>> read = {"models": models, "references": {}, "device": "cpu"}
    >>> table = study_table.study_table([downstream.Result.from_json(read)], learnable_gap=0.2)
    >>> study_table.arm(table, "saturated", 0.0, "share").tolist()  # per cent of the gap
    [1.0, 2.0]
    """
    rows = []
    for model in (model for result in results for model in result.models):
        own = asdict(model)
        tasks = own.pop("tasks") or {np.nan: {}}
        own["share"] = 100 * model.excess / learnable_gap
        for place, found in tasks.items():
            accuracies = {name: _per_cent(found.get(name)) for name in PROBES}
            rows.append({**own, "place": place, **accuracies})
    if not rows:
        raise ValueError("`results` must hold the result of a run, got no model.")
    frame = pd.DataFrame(rows)
    return frame.drop_duplicates(["kind", "strength", "seed", "width", "place"], ignore_index=True)


def _per_cent(value: float | None) -> float:
    return np.nan if value is None else 100 * value


def arm(
    table: pd.DataFrame, kind: str, strength: float, column: str, place: float | None = None
) -> pd.Series:
    """A column of one arm by seed; a task's column needs its `place`.

    Raises
    ------
    ValueError
        no such arm, or one in which the column was not measured.
    """
    rows = table[(table.kind == kind) & (table.strength == strength)]
    rows = rows.drop_duplicates("seed") if place is None else rows[rows.place == place]
    found = rows.set_index("seed")[column].sort_index().astype(float)
    if found.empty or found.isna().any():
        arms = table[["kind", "strength"]].drop_duplicates().to_numpy().tolist()
        raise ValueError(
            f"`{column}` was not measured of the arm ({kind!r}, {strength:g}) at place {place}. "
            f"Known arms: {arms}."
        )
    return found


def change(
    table: pd.DataFrame, kind: str, strength: float, column: str, place: float | None = None
) -> Effect:
    """What an intervention changes in a column, paired by seed with the same steps without it: for
    a penalty and for SGD those of strength 0, for the others the saturated models.
    """
    after = arm(table, kind, strength, column, place)
    before = arm(table, *BASELINES.get(kind, SATURATED), column, place)
    return paired_effect(after.to_numpy(), before.loc[after.index].to_numpy())


def log_ratio(table: pd.DataFrame, kind: str, strength: float, column: str) -> Effect:
    """The same for the natural logarithm of a positive column, such as `balanced`."""
    logarithms = table.assign(**{column: np.log(table[column])})
    return change(logarithms, kind, strength, column)


def strengths_of(table: pd.DataFrame, kind: str) -> list[float]:
    """The strengths of a kind of arm, in order."""
    return sorted(table[table.kind == kind].strength.unique().tolist())


def equal_loss(table: pd.DataFrame, kind: str, most: float = 2.0) -> list[float]:
    """The strengths whose models are saturated: a mean excess of at most `most` per cent of the
    learnable gap.
    """
    return [
        strength
        for strength in strengths_of(table, kind)
        if arm(table, kind, strength, "share").mean() <= most
    ]


def slope_per_e_fold(
    table: pd.DataFrame, kind: str, strengths: Sequence[float], column: str, place: float
) -> Effect:
    """How many points an accuracy rises when the balanced trace is multiplied by e, along arms of
    one seed, see `slope_within_seeds`.
    """
    x = [np.log(arm(table, kind, s, "balanced").to_numpy()) for s in strengths]
    y = [arm(table, kind, s, column, place).to_numpy() for s in strengths]
    return slope_within_seeds(np.stack(x, 1), np.stack(y, 1))


def plane(table: pd.DataFrame, kinds: Sequence[str], column: str, place: float) -> pd.DataFrame:
    """For `draw_trace_plane`: each model against its own baseline, with the columns kind, strength,
    seed, log_trace and points. Arms of strength 0 of a kind with a baseline of its own are left
    out: they are the origin.
    """
    rows = []
    for kind in kinds:
        base = BASELINES.get(kind, SATURATED)
        trace = np.log(arm(table, *base, "balanced"))
        points = arm(table, *base, column, place)
        for strength in strengths_of(table, kind):
            if (kind, strength) == base:
                continue
            found = pd.DataFrame(
                {
                    "log_trace": np.log(arm(table, kind, strength, "balanced")) - trace,
                    "points": arm(table, kind, strength, column, place) - points,
                }
            )
            rows.append(found.reset_index().assign(kind=kind, strength=strength))
    return pd.concat(rows, ignore_index=True)
