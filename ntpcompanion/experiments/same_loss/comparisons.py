"""The paper's printed effects, and ours beside them: which arm of which study each one is."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ntpcompanion.experiments.same_loss.study_table import Study

NOT_PRINTED = float("nan")


class Case(NamedTuple):
    """One comparison.

    Fields
    ------
    label
        beside its row in a figure; in brackets the table or figure of the paper.
    paper, delta
        the printed effect in points, and the smallest effect of interest with its sign; NaN where
        there is none.
    study, kind, column, position
        our effect, see `Study.effect`.
    against
        instead of an arm: the study whose saturated models those of `study` are compared with.
    """

    label: str
    paper: float
    delta: float
    study: str
    kind: str
    column: str = "projected"
    position: int | None = None
    against: str = ""


CONTROL = 5  # position of the control task of the hidden Markov models
CASES = (
    Case("trained on (Fig. 1)", NOT_PRINTED, 1.0, "8 states", "continued"),
    Case("trained on, 6 states", NOT_PRINTED, 1.0, "6 states", "continued"),
    Case("width 64, all features", 4.5, NOT_PRINTED, "width 64", "", "full", None, "8 states"),
    Case("width 128, all features", 4.5, 0.41, "width 128", "", "full", None, "width 64"),
    Case("adversary (Table 1, B)", -6.9, -1.38, "8 states", "adversarial"),
    Case("adversary, paper's probe", -6.9, -1.38, "8 states", "adversarial", "heads"),
    Case("adversary, fine-tuned", NOT_PRINTED, -1.38, "8 states", "adversarial", "tuned"),
    Case("adversary, control (Table 2)", -5.5, -1.1, "8 states", "adversarial", position=CONTROL),
    Case("adversary, 6 states", -6.9, -1.38, "6 states, attacked", "adversarial"),
    Case("lookup table (Table 1, B)", -9.5, -1.9, "8 states", "lookup"),
    Case("lookup table, 6 states", -9.5, -1.9, "6 states", "lookup"),
    Case("lookup table, 12 states", -9.5, -1.9, "12 states", "lookup"),
    Case("lookup table, control", NOT_PRINTED, -1.9, "8 states", "lookup", position=CONTROL),
    Case("lookup table, grammar (A)", -18.7, -3.74, "grammar", "lookup"),
)


def compare(studies: Mapping[str, Study], cases: Sequence[Case] = CASES) -> pd.DataFrame:
    """For `draw_comparisons`: a row for each case, with `label`, `paper` and `delta`, and of our
    effect the `value`, the ends `low` and `high` of its interval and its `sd` over seeds.

    Raises
    ------
    ValueError
        as `Study.effect`; a case whose study is missing.
    """
    rows = []
    for case in cases:
        if missing := {case.study, case.against} - {*studies, ""}:
            raise ValueError(f"`studies` must hold {min(missing)!r}, got {', '.join(studies)}.")
        study, where = studies[case.study], (case.column, case.position)
        if case.against:
            own = study.lead(studies[case.against], *where)
        else:
            own = study.effect(case.kind, *where)
        rows.append((case.label, case.paper, case.delta, own.mean, *own.interval, own.sd))
    columns = ["label", "paper", "delta", "value", "low", "high", "sd"]
    return pd.DataFrame(rows, columns=columns)


def compare_widths(studies: Mapping[int, Study], columns: Sequence[str]) -> pd.DataFrame:
    """How accuracies change from the first width on, paired by seed: a row for each of the
    `networks` (saturated, untrained), each `probe` and `width`, with the `change` in points and
    `half of the interval`.
    """
    first, *wider = studies
    rows = []
    for kind in ("saturated", "untrained"):
        for column in columns:
            rows.append((kind, column, first, 0.0, 0.0))
            for width in wider:
                own = studies[width].lead(studies[first], column, kind=kind)
                rows.append((kind, column, width, own.mean, own.interval[1] - own.mean))
    names = ["networks", "probe", "width", "change", "half of the interval"]
    return pd.DataFrame(rows, columns=names)
