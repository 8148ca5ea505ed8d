"""The paper's printed effects, and ours beside them: which arm of which study each one is."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ntpcompanion.experiments.same_loss.study_table import Study

NONE = float("nan")


class Case(NamedTuple):
    """One comparison: its `label`, with a table or figure of the paper in brackets; the effect that
    the `paper` prints, in points, and `delta`, the smallest effect of interest with its sign (NaN:
    there is none). Ours is `Study.effect` of a `kind` in a `study`, or the lead of that study over
    another, `against`.
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
    Case("trained on (Fig. 1)", NONE, 1.0, "8 states", "continued"),
    Case("trained on, 6 states", NONE, 1.0, "6 states", "continued"),
    Case("width 64, all features", 4.5, NONE, "width 64", "", "full", None, "8 states"),
    Case("width 128, all features", 4.5, 0.41, "width 128", "", "full", None, "width 64"),
    Case("adversary (Table 1, B)", -6.9, -1.38, "8 states", "adversarial"),
    Case("adversary, paper's probe", -6.9, -1.38, "8 states", "adversarial", "heads"),
    Case("adversary, fine-tuned", NONE, -1.38, "8 states", "adversarial", "tuned"),
    Case("adversary, control (Table 2)", -5.5, -1.1, "8 states", "adversarial", position=CONTROL),
    Case("adversary, 6 states", -6.9, -1.38, "6 states, attacked", "adversarial"),
    Case("lookup table (Table 1, B)", -9.5, -1.9, "8 states", "lookup"),
    Case("lookup table, 6 states", -9.5, -1.9, "6 states", "lookup"),
    Case("lookup table, 12 states", -9.5, -1.9, "12 states", "lookup"),
    Case("lookup table, control", NONE, -1.9, "8 states", "lookup", position=CONTROL),
    Case("lookup table, grammar (A)", -18.7, -3.74, "grammar", "lookup"),
)


def compare(studies: Mapping[str, Study], cases: Sequence[Case] = CASES) -> pd.DataFrame:
    """For `draw_comparisons`: a row for each case, with `label`, `paper` and `delta`, and of our
    effect the `value`, the ends `low` and `high` of its interval and its `sd` over seeds.

    Raises ValueError as `Study.effect`, and for a case whose study is missing.
    """
    rows = []
    for case in cases:
        if missing := {case.study, case.against} - {*studies, ""}:
            raise ValueError(f"`studies` must hold {min(missing)!r}, got {', '.join(studies)}.")
        study, where = studies[case.study], (case.column, case.position)
        other = studies.get(case.against)
        effect = study.lead(other, *where) if other else study.effect(case.kind, *where)
        rows.append((*case[:3], effect.mean, *effect.interval, effect.sd))
    names = ["label", "paper", "delta", "value", "low", "high", "sd"]
    return pd.DataFrame(rows, columns=names)


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
                lead = studies[width].lead(studies[first], column, kind=kind)
                rows.append((kind, column, width, lead.mean, lead.interval[1] - lead.mean))
    names = ["networks", "probe", "width", "change", "half of the interval"]
    return pd.DataFrame(rows, columns=names)
