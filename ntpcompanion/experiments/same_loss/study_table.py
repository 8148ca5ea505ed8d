"""Runs of `downstream` as one table, and the effects that the chapters read from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.same_loss.downstream import Plan, Result
from ntpcompanion.mlm.data.mlm_checks import as_list
from ntpcompanion.statistics.effects import Effect, paired_effect, slope_within_seeds
from ntpcompanion.validation import (
    as_number,
    as_positive,
    check_choice,
    check_instance,
    described,
)

PROBES = ("full", "projected", "few_shot", "masked", "heads", "halfway", "tuned")
# what each kind of arm is compared with: the same steps without what is asked about
BASELINES = {"penalty": ("penalty", 0.0), "annealed": ("annealed", 0.0)}
SATURATED = ("saturated", 0.0)
OWN_COLUMNS = ("kind", "strength", "seed", "position")


def read_study(tasks: Iterable[Mapping[str, Any]]) -> list[tuple[Plan, Result]]:
    """Plans and results of tasks as a record keeps them, with `parameters` and `result`.

    Raises
    ------
    ValueError
        a sentence for each field that does not fit; what is not a list of tasks.
    """
    pairs = []
    for task in as_list("tasks", tasks, "tasks of a record"):
        if not isinstance(task, Mapping) or not {"parameters", "result"} <= set(task):
            raise ValueError(
                "`tasks` must hold dicts with `parameters` and `result`, as a record does, got "
                f"{described(task)}."
            )
        pairs.append((Plan.from_json(task["parameters"]), Result.from_json(task["result"])))
    return pairs


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
        learnable_gap; trace, balanced, slope, slope_stderr; position (NaN for a model whose
        features were not probed) and the accuracies of PROBES in per cent (NaN where not measured).

    Raises
    ------
    ValueError
        results without any model, or of another kind; a gap that is not positive and finite.

    Examples
    --------
    >>> from ntpcompanion.experiments.same_loss import downstream
    >>> from ntpcompanion.experiments.same_loss import study_table
    >>> model = {"strength": 0.0, "width": 8, "excess_stderr": 1e-4, "tasks": {}}
    >>> model |= {"kind": "saturated", "trace": 8.2, "balanced": 2.9}
    >>> models = [{**model, "seed": 0, "excess": 0.002}, {**model, "seed": 1, "excess": 0.004}]
    >>> read = {"models": models, "references": {}, "device": "cpu"}
    >>> table = study_table.study_table([downstream.Result.from_json(read)], learnable_gap=0.2)
    >>> study_table.arm(table, "saturated", 0.0, "share").tolist()  # per cent of the gap
    [1.0, 2.0]
    """
    rows = []
    as_positive("learnable_gap", learnable_gap)
    results = as_list("results", results, "results of `downstream.run`")
    for result in results:
        check_instance("results", result, Result)
    for model in (model for result in results for model in result.models):
        fields = asdict(model)
        tasks = fields.pop("tasks") or {np.nan: {}}
        fields["share"] = 100 * model.excess / learnable_gap
        for position, measured in tasks.items():
            accuracies = {name: _per_cent(measured.get(name)) for name in PROBES}
            rows.append({**fields, "position": position, **accuracies})
    if not rows:
        raise ValueError(
            f"`results` must hold the result of a run, got no model in {len(results)} results."
        )
    frame = pd.DataFrame(rows)
    return frame.drop_duplicates(
        ["kind", "strength", "seed", "width", "position"], ignore_index=True
    )


def _per_cent(value: float | None) -> float:
    return np.nan if value is None else 100 * value


def arm(
    table: pd.DataFrame, kind: str, strength: float, column: str, position: float | None = None
) -> pd.Series:
    """A column of one arm by seed; a task's column needs its `position`.

    Raises
    ------
    ValueError
        no such arm or column, an arm in which the column was not measured, what is not such a
        table.
    """
    _check_kinds(table, [kind])
    as_number("strength", strength)
    check_choice("column", column, _columns(table))
    rows = table[(table.kind == kind) & (table.strength == strength)]
    rows = rows.drop_duplicates("seed") if position is None else rows[rows.position == position]
    values = rows.set_index("seed")[column].sort_index().astype(float)
    if values.empty or values.isna().any():
        arms = table[["kind", "strength"]].drop_duplicates().to_numpy().tolist()
        raise ValueError(
            f"`{column}` was not measured of the arm with `kind` = {kind!r} and `strength` = "
            f"{strength:g} at `position` {position}. Known arms: {arms}."
        )
    return values


def _columns(table: pd.DataFrame) -> list[str]:
    return [column for column in table.columns if column not in ("kind", "seed")]


def _check_kinds(table: pd.DataFrame, kinds: Sequence[str], name: str = "kind") -> None:
    """ValueError unless the table is one of `study_table`, with arms of these kinds."""
    check_instance("table", table, pd.DataFrame)
    if missing := [name for name in OWN_COLUMNS if name not in table.columns]:
        raise ValueError(
            f"`table` must be one of `study_table`, with columns {', '.join(missing)}. It has "
            f"{', '.join(map(str, table.columns)) or 'none'}."
        )
    for kind in kinds:
        check_choice(name, kind, table.kind.unique().tolist())


def change(
    table: pd.DataFrame, kind: str, strength: float, column: str, position: float | None = None
) -> Effect:
    """What an intervention changes in a column, paired by seed with the same steps without it: for
    a penalty and for SGD those of strength 0, for the others the saturated models.
    """
    after = arm(table, kind, strength, column, position)
    before = arm(table, *BASELINES.get(kind, SATURATED), column, position)
    return paired_effect(after.to_numpy(), before.loc[after.index].to_numpy())


def log_ratio(table: pd.DataFrame, kind: str, strength: float, column: str) -> Effect:
    """The same for the natural logarithm of a positive column, such as `balanced`."""
    _check_kinds(table, [kind])
    check_choice("column", column, _columns(table))
    logarithms = table.assign(**{column: np.log(table[column])})
    return change(logarithms, kind, strength, column)


def strengths_of(table: pd.DataFrame, kind: str) -> list[float]:
    """The strengths of a kind of arm, in order."""
    _check_kinds(table, [kind])
    return sorted(table[table.kind == kind].strength.unique().tolist())


def equal_loss(table: pd.DataFrame, kind: str, maximum: float = 2.0) -> list[float]:
    """The strengths whose models are saturated: a mean excess of at most `maximum` per cent of the
    learnable gap.
    """
    as_number("maximum", maximum, 0)
    return [
        strength
        for strength in strengths_of(table, kind)
        if arm(table, kind, strength, "share").mean() <= maximum
    ]


def slope_per_e_fold(
    table: pd.DataFrame,
    kind: str,
    strengths: Sequence[float],
    column: str,
    position: float,
    trace: str = "balanced",
) -> Effect:
    """How many points an accuracy rises when a trace is multiplied by e, along arms of one seed,
    see `slope_within_seeds`.

    Raises ValueError as `arm`, and for fewer than two strengths.
    """
    _check_kinds(table, [kind])
    check_choice("column", column, _columns(table))
    strengths = as_list("strengths", strengths, "strengths")
    if len(strengths) < 2:
        raise ValueError(f"`strengths` must hold at least two, for a slope, got {len(strengths)}.")
    x = [np.log(arm(table, kind, s, trace).to_numpy()) for s in strengths]
    y = [arm(table, kind, s, column, position).to_numpy() for s in strengths]
    return slope_within_seeds(np.stack(x, 1), np.stack(y, 1))


def plane(
    table: pd.DataFrame,
    kinds: Sequence[str],
    column: str,
    position: float,
    trace: str = "balanced",
) -> pd.DataFrame:
    """For `draw_trace_plane`: each model against its own baseline, with the columns kind, strength,
    seed, log_trace and points. Arms of strength 0 of a kind with a baseline of its own are left
    out: they are the origin. Raises ValueError as `arm`, and for no kind.
    """
    rows = []
    if not (kinds := as_list("kinds", kinds, "kinds of arms")):
        raise ValueError("`kinds` must hold at least one kind of arm, got an empty list.")
    _check_kinds(table, kinds, "kinds")
    for kind in kinds:
        base = BASELINES.get(kind, SATURATED)
        origin = np.log(arm(table, *base, trace))
        points = arm(table, *base, column, position)
        for strength in strengths_of(table, kind):
            if (kind, strength) == base:
                continue
            frame = pd.DataFrame(
                {
                    "log_trace": np.log(arm(table, kind, strength, trace)) - origin,
                    "points": arm(table, kind, strength, column, position) - points,
                }
            )
            rows.append(frame.reset_index().assign(kind=kind, strength=strength))
    return pd.concat(rows, ignore_index=True)
