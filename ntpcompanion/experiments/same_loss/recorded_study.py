"""Models of recorded runs of `downstream`, and the effects that the chapters read from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

from ntpcompanion.experiments.same_loss.downstream import Plan, Result
from ntpcompanion.experiments.same_loss.study_model import TaskReferences
from ntpcompanion.mlm.data.mlm_checks import as_list
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps, context_gaps
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, paired_effect, slope_within_seeds
from ntpcompanion.validation import (
    as_number,
    as_positive,
    check_choice,
    check_instance,
    described,
)

PROBES = ("full", "projected", "few_shot", "masked", "heads", "halfway", "tuned")
TRACES = ("trace", "balanced", "function", "median")
# what each kind of arm is compared with: the same steps without what is asked about
BASELINES = {kind: (kind, 0.0) for kind in ("penalty", "annealed", "held", "last")}
SATURATED = ("saturated", 0.0)


@dataclass(frozen=True, eq=False)
class Study:
    """What was measured of the models of one language.

    Fields
    ------
    table
        of `study_table`.
    plan
        of a recorded run; all have the same language and tasks.
    gaps, references
        what the context is worth in the language; what the accuracies are compared with, by
        position, or nothing if no run has it.
    equal_share
        the mean excess, in per cent of the learnable gap, up to which a loss counts as equal.
    """

    table: pd.DataFrame
    plan: Plan | None = None
    gaps: ContextGaps | None = None
    references: Mapping[int, TaskReferences] = field(default_factory=dict)
    equal_share: float = 2.0

    @property
    def position(self) -> int:
        """Of the main task, where a probe is read if no position is named; without a plan the first
        one that was measured.
        """
        return self.plan.suite.places[0] if self.plan else int(self.table.position.min())

    def select(self, query: str) -> "Study":
        """The models for which a query of pandas holds, such as "strength >= 0"."""
        return replace(self, table=self.table.query(query))

    def joined(self, other: "Study") -> "Study":
        """These models and those of another study of the same language."""
        return replace(self, table=pd.concat([self.table, other.table]))

    def arm(
        self, kind: str, strength: float, column: str, position: int | None = None
    ) -> pd.Series:
        """A column of one arm by seed, a task's column at a `position`.

        Raises
        ------
        ValueError
            no such arm or column, an arm in which the column was not measured.
        """
        self._check_kinds([kind])
        as_number("strength", strength)
        check_choice("column", column, self._columns)
        # arrays, as a table of effects asks for hundreds of columns
        of = {name: self.table[name].to_numpy() for name in ("kind", "strength", "seed", column)}
        rows = (of["kind"] == kind) & (of["strength"] == strength)
        if column in PROBES:
            position = self.position if position is None else position
            rows &= self.table.position.to_numpy() == position
        seeds = pd.Index(of["seed"][rows], name="seed")
        values: pd.Series = pd.Series(of[column][rows], seeds, float, column)
        values = values[~seeds.duplicated()].sort_index()
        if values.empty or values.isna().any():
            arms = self.table[["kind", "strength"]].drop_duplicates().to_numpy().tolist()
            raise ValueError(
                f"`{column}` was not measured of the arm with `kind` = {kind!r} and `strength` = "
                f"{strength:g} at `position` {position}. Known arms: {arms}."
            )
        return values

    def saturated(self, column: str, position: int | None = None) -> pd.Series:
        """A column of the models that nothing was done to, by seed."""
        return self.arm(*SATURATED, column, position)

    def strengths(self, kind: str) -> list[float]:
        """The strengths of a kind of arm, in order."""
        self._check_kinds([kind])
        return sorted(self.table[self.table.kind == kind].strength.unique().tolist())

    def equal_loss(self, kind: str) -> list[float]:
        """The strengths at equal loss: a mean excess of at most `equal_share`."""
        return [
            strength
            for strength in self.strengths(kind)
            if self.arm(kind, strength, "share").mean() <= self.equal_share
        ]

    def effect(
        self,
        kind: str,
        column: str = "projected",
        position: int | None = None,
        strength: float | None = None,
    ) -> Effect:
        """What an intervention changes, paired by seed with the same steps without it: for a
        penalty and for SGD those of strength 0, for the others the saturated models.

        Parameters
        ----------
        kind, strength
            the arm; without a strength the largest at equal loss. "lookup" stands for probes on
            the exact conditional distributions in place of features.
        column, position
            an accuracy (in points) and the position of its task; "share" and what else was measured
            of a model; or a trace, in e-folds.

        Raises
        ------
        ValueError
            as `arm`; no arm at equal loss.
        """
        if kind == "lookup":
            before = self.saturated(column, position)
            task = self.references[self.position if position is None else position]
            exact = 100 * getattr(task.lookup, column)
            return paired_effect(np.full(len(before), exact), before.to_numpy())
        if strength is None:
            if not (equal := self.equal_loss(kind)):
                raise ValueError(f"`kind` = {kind!r} has no arm at equal loss.")
            strength = max(equal)
        after = self.arm(kind, strength, column, position)
        return _paired(after, self.arm(*BASELINES.get(kind, SATURATED), column, position), column)

    def lead(
        self,
        other: "Study",
        column: str = "projected",
        position: int | None = None,
        kind: str = "saturated",
    ) -> Effect:
        """By how much a column of the models that nothing was done to ("saturated" or "untrained")
        is larger than in another study with the same seeds.
        """
        after, before = (one.arm(kind, 0.0, column, position) for one in (self, other))
        return _paired(after, before, column)

    def effects(
        self, kind: str, columns: Sequence[str], strengths: Sequence[float] | None = None
    ) -> pd.DataFrame:
        """The `effect` of each strength on each column: a row for each strength, those at equal
        loss except for the baseline if none is named.
        """
        if strengths is None:
            strengths = [s for s in self.equal_loss(kind) if (kind, s) != BASELINES.get(kind)]
        cells = {
            column: [self.effect(kind, column, None, strength) for strength in strengths]
            for column in columns
        }
        return pd.DataFrame(cells, index=pd.Index(strengths, name="strength"))

    def slope(
        self,
        kind: str,
        column: str = "projected",
        strengths: Sequence[float] | None = None,
        trace: str = "balanced",
        *,
        odds: bool = False,
    ) -> Effect:
        """How many points an accuracy of the main task rises when a trace is multiplied by e, along
        arms of one seed, see `slope_within_seeds`; those at equal loss if no strengths are named.
        With `odds` by how much its log-odds rise.

        Raises ValueError as `arm`, and for fewer than two strengths.
        """
        check_choice("column", column, self._columns)
        named = self.equal_loss(kind) if strengths is None else strengths
        if len(named := as_list("strengths", named, "strengths")) < 2:
            raise ValueError(
                f"`strengths` must hold at least two, for a slope, got {len(named)}. A larger "
                "`equal_share` allows more."
            )
        x = [np.log(self.arm(kind, s, trace).to_numpy()) for s in named]
        y = np.stack([self.arm(kind, s, column).to_numpy() for s in named], 1)
        return slope_within_seeds(np.stack(x, 1), logit(y / 100) if odds else y)

    def leverage(self, kind: str) -> dict[float, float]:
        """Which share of what decides a slope within seeds each arm at equal loss has: its squared
        distance from the mean log balanced trace of the seed over the sum of these, mean over
        seeds. The shares add up to 1.
        """
        strengths = self.equal_loss(kind)
        x = np.stack([np.log(self.arm(kind, s, "balanced").to_numpy()) for s in strengths], 1)
        squares = (x - x.mean(1, keepdims=True)) ** 2
        shares = (squares / squares.sum(1, keepdims=True)).mean(0)
        return dict(zip(strengths, shares.tolist(), strict=True))

    def plane(
        self, kinds: Sequence[str], column: str = "projected", trace: str = "balanced"
    ) -> pd.DataFrame:
        """For `draw_trace_plane`: each model at equal loss against its own baseline, with the
        columns kind, strength, seed, log_trace and points. Baselines are left out: they are the
        origin. Raises ValueError as `arm`, and for no kind.
        """
        rows = []
        if not (kinds := as_list("kinds", kinds, "kinds of arms")):
            raise ValueError("`kinds` must hold at least one kind of arm, got an empty list.")
        self._check_kinds(kinds, "kinds")
        for kind in kinds:
            base = BASELINES.get(kind, SATURATED)
            for strength in self.equal_loss(kind):
                if (kind, strength) == base:
                    continue
                origin = np.log(self.arm(*base, trace))
                frame = pd.DataFrame(
                    {
                        "log_trace": np.log(self.arm(kind, strength, trace)) - origin,
                        "points": self.arm(kind, strength, column) - self.arm(*base, column),
                    }
                )
                rows.append(frame.reset_index().assign(kind=kind, strength=strength))
        return pd.concat(rows, ignore_index=True)

    @property
    def _columns(self) -> list[str]:
        return [column for column in self.table.columns if column not in ("kind", "seed")]

    def _check_kinds(self, kinds: Sequence[str], name: str = "kind") -> None:
        for kind in kinds:
            check_choice(name, kind, self.table.kind.unique().tolist())


def read_study(
    tasks: Iterable[Run[Plan, Result]],
    gaps: ContextGaps | None = None,
    *,
    equal_share: float = 2.0,
    **drawn: Any,
) -> Study:
    """The study that the tasks of one or several records make up.

    Parameters
    ----------
    tasks
        the runs, as `show_record` gives them.
    gaps
        of the language; without them `context_gaps` estimates them from the sentences `drawn`,
        20,000 if nothing is said.
    equal_share
        of the study.

    Raises
    ------
    ValueError
        what is not a list of runs of `downstream`.
    """
    runs: list[Run[Plan, Result]] = as_list("tasks", tasks, "tasks of a record")
    for run in runs:
        if not isinstance(run, Run) or not isinstance(run.result, Result):
            raise ValueError(f"`tasks` must hold runs of `downstream`, got {described(run)}.")
    if not runs:
        raise ValueError("`tasks` must hold a task of a record, got none.")
    plan, results = runs[0].plan, [run.result for run in runs]
    gaps = gaps or context_gaps(plan.language.build(), **{"sentences": 20_000, "seed": 0} | drawn)
    references = next((result.references for result in results if result.references), {})
    table = study_table(results, gaps.learnable_gap)
    return Study(table, plan, gaps, references, as_number("equal_share", equal_share, 0))


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
    Two models that nothing was done to yet:

    >>> from ntpcompanion.experiments.same_loss.recorded_study import Study, study_table
    >>> from ntpcompanion.experiments.same_loss import downstream
    >>> model = {"strength": 0.0, "width": 8, "excess_stderr": 1e-4, "tasks": {}}
    >>> model |= {"kind": "saturated", "trace": 8.2, "balanced": 2.9}
    >>> models = [{**model, "seed": 0, "excess": 0.002}, {**model, "seed": 1, "excess": 0.004}]
    >>> read = {"models": models, "references": {}, "device": "cpu"}
    >>> table = study_table([downstream.Result.from_json(read)], learnable_gap=0.2)
    >>> Study(table).saturated("share").tolist()  # per cent of the gap
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


def _paired(after: pd.Series, before: pd.Series, column: str) -> Effect:
    before = before.loc[after.index]
    if column in TRACES:
        after, before = np.log(after), np.log(before)
    return paired_effect(after.to_numpy(), before.to_numpy())


def _per_cent(value: float | None) -> float:
    return np.nan if value is None else 100 * value
