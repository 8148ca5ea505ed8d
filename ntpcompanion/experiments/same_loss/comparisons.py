"""The paper's printed effects, and ours beside them: which arm of which study each one is."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ntpcompanion.experiments.same_loss.recorded_study import Study

NONE = float("nan")


class Case(NamedTuple):
    """One comparison: its `label` in the figure, with a table or figure of the paper in brackets,
    or nothing if it stands in a table only; the effect that the `paper` prints, in points, and
    `delta`, the smallest effect of interest with its sign (NaN: there is none). Ours is
    `Study.effect` of a `kind` in a `study`, or the lead of that study over another, `against`.
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
    Case("", NONE, 1.0, "8 states", "continued", "full"),
    Case("", NONE, 1.0, "8 states", "continued", "few_shot"),
    Case("", NONE, 1.0, "6 states", "continued"),
    Case("width 64, all features", 4.5, NONE, "width 64", "", "full", None, "8 states"),
    Case("width 128, all features", 4.5, NONE, "width 128", "", "full", None, "width 64"),
    Case("adversary (Table 1, B)", -6.9, -1.38, "8 states", "adversarial"),
    Case("", NONE, -1.38, "8 states", "adversarial", "full"),
    Case("", NONE, -1.38, "8 states", "adversarial", "few_shot"),
    Case("adversary, paper's probe", -6.9, -1.38, "8 states", "adversarial", "heads"),
    Case("adversary, fine-tuned", NONE, -1.38, "8 states", "adversarial", "tuned"),
    Case("adversary, control (Table 2)", -5.5, -1.1, "8 states", "adversarial", position=CONTROL),
    Case("", -6.9, -1.38, "6 states, attacked", "adversarial"),
    Case("", -6.9, -1.38, "6 states, attacked", "adversarial", "heads"),
    Case("", NONE, -1.38, "6 states, attacked", "adversarial", "tuned"),
    Case("", -5.5, -1.1, "6 states, attacked", "adversarial", position=CONTROL),
    Case("lookup table (Table 1, B)", -9.5, -1.9, "8 states", "lookup"),
    Case("", NONE, -1.9, "8 states", "lookup", "full"),
    Case("", NONE, -1.9, "8 states", "lookup", "few_shot"),
    Case("", -9.5, -1.9, "6 states", "lookup"),
    Case("", -9.5, -1.9, "12 states", "lookup"),
    Case("lookup table, control", NONE, -1.9, "8 states", "lookup", position=CONTROL),
    Case("", NONE, NONE, "8 states", "lookup", "full", CONTROL),
    Case("lookup table, grammar (A)", -18.7, NONE, "grammar", "lookup"),
)
PROBES = {"projected": "64 columns", "full": "all columns", "few_shot": "400 examples"}
PROBES |= {"heads": "the paper's", "tuned": "fine-tuned"}


def compare(studies: Mapping[str, Study], cases: Sequence[Case] = CASES) -> pd.DataFrame:
    """For `draw_comparisons`: a row for each case, with its fields, and of our effect the `value`,
    the ends `low` and `high` of its interval and its `sd` over seeds.

    Raises ValueError as `Study.effect`, and for a case whose study is missing.
    """
    rows = []
    for case in cases:
        if missing := {case.study, case.against} - {*studies, ""}:
            raise ValueError(f"`studies` must hold {min(missing)!r}, got {', '.join(studies)}.")
        study, where = studies[case.study], (case.column, case.position)
        other = studies.get(case.against)
        effect = study.lead(other, *where) if other else study.effect(case.kind, *where)
        rows.append((*case, effect.mean, *effect.interval, effect.sd))
    return pd.DataFrame(rows, columns=[*Case._fields, "value", "low", "high", "sd"])


def table_of(compared: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The comparisons of one kind, as `compare` gives them, for readers: `language`, `task`,
    `probe`, the `change` with its 95 % interval and `δ`, in points.
    """
    cases = compared[compared.kind == kind]
    numbers = cases[["value", "low", "high"]].to_numpy()
    table = {
        "language": cases.study.str.split(",").str[0],
        "task": cases.position.map({CONTROL: "control"}).fillna("main"),
        "probe": cases.column.map(PROBES),
        "change": ["{:+.2f} [{:+.2f}, {:+.2f}]".format(*row).replace("-", "−") for row in numbers],
        "δ": cases.delta.map("{:+g}".format).str.replace("-", "−").replace("+nan", "–"),
    }
    return pd.DataFrame(table).reset_index(drop=True)


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
