"""What recorded studies say for and against a link of trace and accuracy, arm by arm."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from ntpcompanion.experiments.same_loss.study_table import SATURATED, arm, change, log_ratio
from ntpcompanion.mlm.data.mlm_checks import as_list
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.statistics.effects import Effect, slope_within_seeds
from ntpcompanion.validation import as_between, as_number, check_instance


def with_interval(effect: Effect, digits: int = 2) -> str:
    """The mean and its 95 % interval, for a table.

    Examples
    --------
    >>> from ntpcompanion.statistics import paired_effect
    >>> from ntpcompanion.experiments.same_loss.study_evidence import with_interval
    >>> with_interval(paired_effect(after=[61, 64, 63, 66], before=[60, 62, 62, 64]))
    '+1.50 [+0.58, +2.42]'
    """
    low, high = (f"{end:+.{digits}f}" for end in effect.interval)
    return f"{effect.mean:+.{digits}f} [{low}, {high}]".replace("-", "−")


def doses(
    table: pd.DataFrame,
    kind: str,
    strengths: Sequence[float],
    columns: Mapping[str, str],
    position: float,
) -> dict[float, dict[str, Effect]]:
    """Of each strength what it does to trace, loss and accuracies, paired by seed.

    Parameters
    ----------
    table
        of `study_table`.
    kind, strengths
        the arms, each against the baseline of its kind (see `change`).
    columns
        a heading for each accuracy, and the column that it is.
    position
        of the task.

    Returns
    -------
    dict
        for each strength "dose" (change of the logarithm of the balanced trace), "loss" (change of
        the excess in per cent of the learnable gap), and the headings.

    Raises
    ------
    ValueError
        no such arm or column, see `arm`.
    """
    return {
        strength: {
            "dose": log_ratio(table, kind, strength, "balanced"),
            "loss": change(table, kind, strength, "share"),
            **{
                head: change(table, kind, strength, column, position)
                for head, column in columns.items()
            },
        }
        for strength in as_list("strengths", strengths, "strengths")
    }


def slope_across(
    tables: Sequence[pd.DataFrame], trace: str, column: str, position: float
) -> Effect:
    """How many points an accuracy rises for each e-fold of a trace from one table to the next, of
    saturated models of the same seeds: one table for each width, say.

    Raises ValueError as `arm` and `slope_within_seeds`.
    """
    tables = as_list("tables", tables, "tables of `study_table`")
    x = [np.log(arm(table, *SATURATED, trace).to_numpy()) for table in tables]
    y = [arm(table, *SATURATED, column, position).to_numpy() for table in tables]
    return slope_within_seeds(np.stack(x, 1), np.stack(y, 1))


def leverage(table: pd.DataFrame, kind: str, strengths: Sequence[float]) -> dict[float, float]:
    """Which share of what decides a slope within seeds each arm has: its squared distance from the
    mean log balanced trace of the seed over the sum of these, mean over seeds. The shares add up
    to 1.
    """
    strengths = as_list("strengths", strengths, "strengths")
    x = np.stack([np.log(arm(table, kind, s, "balanced").to_numpy()) for s in strengths], 1)
    squares = (x - x.mean(1, keepdims=True)) ** 2
    shares = (squares / squares.sum(1, keepdims=True)).mean(0)
    return dict(zip(strengths, shares.tolist(), strict=True))


def points_of_log_odds(log_odds: float, accuracy: float) -> float:
    """By how many points an accuracy in per cent rises if its log-odds rise by `log_odds`.

    Near 100 per cent a point is worth more than in the middle.

    Raises ValueError for an accuracy that is not between 0 and 100.

    Examples
    --------
    >>> from ntpcompanion.experiments.same_loss.study_evidence import points_of_log_odds
    >>> [round(points_of_log_odds(0.1, accuracy), 2) for accuracy in (50, 95)]
    [2.5, 0.45]
    """
    probability = as_between("accuracy", accuracy, 0, 100) / 100
    return float(100 * (expit(logit(probability) + as_number("log_odds", log_odds)) - probability))


def condition_table(
    conditions: Mapping[str, tuple[str, float]], measured: Mapping[str, Mapping[str, Effect]]
) -> pd.DataFrame:
    """Conditions that a design asks of several languages, and whether each was met.

    Parameters
    ----------
    conditions
        for each condition "at least" or "at most", and the number.
    measured
        for each language what was measured of each condition.

    Returns
    -------
    DataFrame
        a row for each condition: its name, what was asked for, and for each language the mean and
        the 95 % interval, with a cross where some part of it does not meet the condition.

    Raises
    ------
    ValueError
        a word other than these two, a condition that was not measured.
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


def gap_effects(gaps: ContextGaps, sentences: int) -> dict[str, Effect]:
    """What the context is worth in a language, in nats, as numbers with an error: "learnable gap"
    and "neighbours' gap", each a mean over so many drawn `sentences`.

    Raises ValueError for what is not a `ContextGaps`.
    """
    check_instance("gaps", gaps, ContextGaps)
    error = float(np.hypot(gaps.floor_stderr, gaps.neighbours_stderr))
    errors = {"learnable gap": gaps.floor_stderr, "neighbours' gap": error}
    values = gaps.learnable_gap, gaps.neighbours_gap
    return {
        name: Effect(value, stderr, sentences, stderr * sentences**0.5)
        for value, (name, stderr) in zip(values, errors.items(), strict=True)
    }
