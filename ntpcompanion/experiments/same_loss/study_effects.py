"""What recorded studies say for and against a link of trace and accuracy, arm by arm."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import expit, logit

from ntpcompanion.experiments.same_loss.interventions import Noise
from ntpcompanion.experiments.same_loss.recorded_study import Study
from ntpcompanion.statistics.effects import (
    Effect,
    estimate,
    mean_effect,
    paired_effect,
    slope_within_seeds,
)
from ntpcompanion.validation import as_between, as_number, check_instance

# probes, in the order in which a reader chooses among them
CHOICES = ("projected", "full", "few_shot", "masked", "heads", "halfway", "tuned")


def with_interval(effect: Effect, digits: int = 2) -> str:
    """The mean and its 95 % interval, for a table.

    Examples
    --------
    >>> from ntpcompanion.statistics import paired_effect
    >>> from ntpcompanion.experiments.same_loss.study_effects import with_interval
    >>> with_interval(paired_effect(after=[61, 64, 63, 66], before=[60, 62, 62, 64]))
    '+1.50 [+0.58, +2.42]'
    """
    low, high = (f"{end:+.{digits}f}" for end in effect.interval)
    return f"{effect.mean:+.{digits}f} [{low}, {high}]".replace("-", "−")


def intervals(effects: Mapping[str, Effect]) -> pd.DataFrame:
    """For `draw_comparisons`: of each effect the `label`, `value`, and ends `low` and `high`."""
    rows = [(label, effect.mean, *effect.interval) for label, effect in effects.items()]
    return pd.DataFrame(rows, columns=["label", "value", "low", "high"])


def slope_table(
    studies: Mapping[str, Study],
    kind: str,
    columns: Sequence[str],
    strengths: Sequence[float] | None = None,
    trace: str = "balanced",
) -> pd.DataFrame:
    """The `slope` of each accuracy in each study: a row for each study."""
    slopes = {
        name: {column: study.slope(kind, column, strengths, trace) for column in columns}
        for name, study in studies.items()
    }
    return pd.DataFrame(slopes).T


def slopes_across(studies: Sequence[Study], columns: Sequence[str]) -> pd.DataFrame:
    """How many points accuracies rise for each e-fold of the plain and of the balanced trace from
    one study to the next, of saturated models of the same seeds: one study for each width, say.

    Raises ValueError as `Study.arm` and `slope_within_seeds`.
    """

    def levels(column: str) -> Float[np.ndarray, "seeds studies"]:
        return np.stack([study.saturated(column).to_numpy() for study in studies], 1)

    cells = {
        trace: [slope_within_seeds(np.log(levels(trace)), levels(column)) for column in columns]
        for trace in ("trace", "balanced")
    }
    return pd.DataFrame(cells, index=list(columns))


def sgd_excess(study: Study) -> pd.DataFrame:
    """Excess of the loss above the start at a constant learning rate of SGD, before the anneal:
    a row for each `rate` and seed, `predicted` from η tr H / (4B) and `measured` (nats).

    Raises ValueError for a study whose plan has no SGD.
    """
    plans = study.plan.interventions if study.plan else ()
    sgd = next((plan.sgd for plan in plans if isinstance(plan, Noise)), None)
    if sgd is None:
        raise ValueError("`study` must have the intervention `Noise` in its plan.")
    start = study.arm("sgd", 0.0, "excess")
    factor = sgd.learning_rate / (4 * sgd.batch_size)
    rates = study.strengths("sgd")
    columns = {
        "predicted": {rate: rate * factor * study.arm("sgd", rate, "trace") for rate in rates},
        "measured": {rate: study.arm("sgd", rate, "excess") - start for rate in rates},
    }
    return pd.DataFrame(
        {name: pd.concat(column, names=["rate"]) for name, column in columns.items()}
    )


def accuracies_by_features(
    study: Study, features: Sequence[str], columns: Sequence[str]
) -> pd.DataFrame:
    """Accuracies on the main task: `features` (the "words", the "lookup" table, or a kind of arm of
    strength 0), `probe` and `accuracy` in per cent; of an arm a row for each seed.
    """
    task, rows = study.references[study.position], []
    for name in features:
        exact = {"words": task.words, "lookup": task.lookup}.get(name)
        for column in columns:
            values = [100 * getattr(exact, column)] if exact else study.arm(name, 0.0, column)
            rows += [(name, column, value) for value in values]
    return pd.DataFrame(rows, columns=["features", "probe", "accuracy"])


def models_to_choose(studies: Mapping[str, Study], kinds: Sequence[str]) -> list[dict[str, Any]]:
    """For the figure `trace_plane`: of each study its name, the positions of its tasks, and its
    models of these kinds with the columns that the figure reads, rounded.
    """
    numbers = ["kind", "strength", "seed", "trace", "balanced", "share", "position"]
    chosen = []
    for name, study in studies.items():
        models = study.table[study.table.position.notna() & study.table.kind.isin(kinds)]
        models = models[[*numbers, *CHOICES]].round(6).astype(object)
        columns = models.where(models.notna(), None).to_dict("list")
        tasks = [*study.plan.suite.places] if study.plan else []
        chosen.append({"name": name, "tasks": tasks, "models": columns})
    return chosen


def points_of_log_odds(log_odds: float, accuracy: float) -> float:
    """By how many points an accuracy in per cent rises if its log-odds rise by `log_odds`.

    Near 100 per cent a point is worth more than in the middle.

    Raises ValueError for an accuracy that is not between 0 and 100.

    Examples
    --------
    >>> from ntpcompanion.experiments.same_loss.study_effects import points_of_log_odds
    >>> [round(points_of_log_odds(0.1, accuracy), 2) for accuracy in (50, 95)]
    [2.5, 0.45]
    """
    probability = as_between("accuracy", accuracy, 0, 100) / 100
    return float(100 * (expit(logit(probability) + as_number("log_odds", log_odds)) - probability))


def condition_table(
    conditions: Mapping[str, tuple[str, float]], measured: Mapping[str, Mapping[str, Effect]]
) -> pd.DataFrame:
    """Conditions "at least" or "at most" a number that a design asks of several languages, with the
    mean and the 95 % interval of each, and a cross where some part of it misses the condition.
    Raises ValueError for other words, a condition that was not measured.
    """
    sides: dict[str, Callable[[Effect, float], bool]] = {
        "at least": lambda effect, edge: effect.interval[0] >= edge,
        "at most": lambda effect, edge: effect.interval[1] <= edge,
    }
    rows = []
    for name, (side, edge) in conditions.items():
        if side not in sides or any(name not in effects for effects in measured.values()):
            raise ValueError(
                f"`conditions` must say at least or at most, of what `measured` holds for every "
                f"language, got {name!r}: {side!r}."
            )
        cells = {
            language: ("" if sides[side](effects[name], edge) else "✗ ") + _plain(effects[name])
            for language, effects in measured.items()
        }
        rows.append({"condition": name, "asked for": f"{side} {edge:g}", **cells})
    return pd.DataFrame(rows)


def _plain(effect: Effect) -> str:
    half = effect.interval[1] - effect.mean
    return f"{effect.mean:.3g} ± {half:.1g}"


def design_effects(study: Study, sentences: int) -> dict[str, Effect]:
    """What a design asks of a language: what its context is worth ("learnable gap" and "neighbours'
    gap" in nats, each a mean over so many drawn `sentences`), the excess loss of saturated networks
    (per cent of the learnable gap), and by how many points of the main task they lead the raw words
    and networks that were not trained.

    Raises ValueError for what is not a study of `read_study`.
    """
    check_instance("study", study, Study)
    if (gaps := study.gaps) is None:
        raise ValueError("`study` must be one of `read_study`.")
    error = float(np.hypot(gaps.floor_stderr, gaps.neighbours_stderr))
    trained, excess = study.saturated("projected"), study.saturated("share")
    raw = study.references[study.position].words
    untrained = study.arm("untrained", 0.0, "projected")
    return {
        "learnable gap": estimate(gaps.learnable_gap, gaps.floor_stderr, sentences),
        "neighbours' gap": estimate(gaps.neighbours_gap, error, sentences),
        "excess loss": mean_effect(excess),
        "lead over raw words": mean_effect(trained - 100 * raw.projected),
        "lead over an untrained network": paired_effect(trained, untrained),
    }
