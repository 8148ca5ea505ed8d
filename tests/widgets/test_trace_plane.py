"""The figure of trace against accuracy: its statistics at every choice against scipy and the
package, and what a reader does with it.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from scipy import stats

from ntpcompanion.experiments.estimates.recorded_studies import RecordedStudies
from ntpcompanion.experiments.estimates.trace_effects import TraceEffects
from ntpcompanion.experiments.same_loss import downstream
from ntpcompanion.experiments.same_loss import recorded_study as study
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.statistics import slope_within_seeds
from tests.experiments.cases import recorded
from tests.widgets.shown import made_widget, narrow, state

GAP = 0.8  # nats, near the learnable gaps of both languages: it decides what counts as equal loss
MOVES = ["penalty", "annealed", "continued", "rescaled"]
SEEDS = [list(range(8)), [0, 3, 5], [6, 2], [1, 2, 4, 7]]
HIDDEN = "hidden Markov model, 8 states"
EFFECTS = """([columns, choices, most]) => {
    const { records, arms, effect } = ntpWidgets.trace_plane;
    const models = records(columns);
    return choices.map(choice => effect(arms(models, choice, most), choice));
}"""


def read(name):
    """The models of a record."""
    return study.read_study(
        recorded(downstream, name), ContextGaps(1.0, 0.0, 1.0 + GAP, 1.0 + GAP, 1.0, 0.0)
    )


@pytest.fixture(scope="module")
def given():
    names = ("downstream_hmm8", "downstream_hmm6", "downstream_pcfg16")
    eight, six, tree = map(read, names)
    others = dict.fromkeys(("longer", "width64", "width128", "six_attacked", "twelve"), six)
    effects = TraceEffects(RecordedStudies(eight=eight, six=six, grammar=tree, **others))
    vars(effects)["flatter"] = {"8 states": eight, "6 states": six, "grammar": tree}
    return {"effects": effects}


@pytest.fixture(scope="module")
def plane(given):
    return made_widget("flatness_downstream", "trace_plane", **given)[0]


def expected(frame, choice, most):
    """The same by scipy and the package, or None where there is no slope; `frame` has what the
    browser has.
    """
    kind, probe = choice["kind"], choice["probe"]
    own = frame[(frame.position == choice["position"]) & frame[probe].notna()]
    base = study.BASELINES.get(kind, study.SATURATED)
    rows = []
    for pair, models in own.groupby(["kind", "strength"]):
        wanted = pair == base or (pair[0] == kind)
        level = models.share.mean()
        if wanted and (pair == base or not choice["equal"] or level <= most):
            rows.append(models.set_index("seed").loc[choice["seeds"]])
    if not rows:
        return None
    x = np.log(np.stack([row[choice["trace"]].to_numpy(float) for row in rows], 1))
    y = np.stack([row[probe].to_numpy(float) for row in rows], 1)
    if kind == "saturated":
        if len(x) < 4:
            return None
        line, r = stats.linregress(x[:, 0], y[:, 0]), stats.pearsonr(x[:, 0], y[:, 0])
        half = stats.t.ppf(0.975, len(x) - 2) * line.stderr
        interval = line.slope - half, line.slope + half
        return line.slope, *interval, r.statistic, *r.confidence_interval()
    if np.ptp(x, axis=1).min() < 1e-4:
        return None
    effect = slope_within_seeds(x, y)
    return effect.mean, *effect.interval


def test_the_quantile_is_that_of_student(plane, opened):
    with opened(plane) as page:
        found = page.evaluate(
            "Array.from({ length: 40 }, (_, k) => k + 1).map(ntpWidgets.trace_plane.quantile)"
        )
    assert found == pytest.approx(stats.t.ppf(0.975, np.arange(1, 41)).tolist(), rel=1e-9)


@pytest.mark.parametrize(
    ("language", "with_slope"),
    [(0, 312), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 280), (2, 136)))],
)
def test_every_choice_has_the_slope_and_interval_of_the_package(
    plane, opened, language, with_slope
):
    chosen, most = plane.data["languages"][language], plane.data["equal_share"]
    columns, tasks = chosen["models"], chosen["tasks"]
    frame = pd.DataFrame(columns)
    axes = {
        "kind": [*MOVES, "saturated"], "position": tasks, "probe": plane.data["probes"],
        "trace": ["balanced", "trace"], "equal": [True, False], "seeds": SEEDS,
    }  # fmt: skip
    choices = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    with opened(plane) as page:
        found = page.evaluate(EFFECTS, [columns, choices, most])
    compared = 0
    for choice, ours in zip(choices, found, strict=True):
        theirs = expected(frame, choice, most)
        assert (ours is None) == (theirs is None), choice
        if theirs is None:
            continue
        numbers = [ours["slope"], *ours["interval"]]
        if choice["kind"] == "saturated":
            numbers += [ours["correlation"], *ours["correlation_interval"]]
        assert numbers == pytest.approx(theirs, rel=1e-7, abs=1e-9), choice
        compared += 1
    assert compared == with_slope


def test_the_main_slope_is_that_of_the_chapter(plane, given, opened):
    models = replace(given["effects"].eight, equal_share=plane.data["equal_share"])
    effect = models.slope("penalty")
    with opened(plane) as page:
        assert state(page)["slope"] == pytest.approx(effect.mean, abs=1e-4)
        assert state(page)["interval"] == pytest.approx(effect.interval, abs=1e-4)
        assert state(page)["points"] == 8 * len(models.equal_loss("penalty"))


def test_a_reader_chooses_by_keyboard(plane, opened):
    with opened(plane) as page:
        said = page.locator(".ntp-says")
        expect(said).to_contain_text("8 seeds")
        expect(said).to_contain_text("The paper's Table 2 amounts to −6.24 points")
        for seed in range(7):
            page.get_by_role("checkbox", name=str(seed), exact=True).focus()
            page.keyboard.press("Space")
        expect(said).to_contain_text("one seed: no interval")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        expect(said).to_have_text("No seed is chosen.")
        page.get_by_role("button", name="Reset").press("Enter")
        page.get_by_role("combobox", name="what differs").select_option(label="a rescaling")
        page.get_by_role("checkbox", name="equal loss only").focus()
        page.keyboard.press("Space")
        expect(said).to_contain_text("The balanced trace does not move here")
        page.get_by_role("combobox", name="trace", exact=True).select_option(label="plain")
        expect(said).to_contain_text("when the trace is multiplied by e")
        page.get_by_role("combobox", name="probe").select_option(label="400 examples")
        assert (state(page)["probe"], state(page)["kind"]) == ("few_shot", "rescaled")
        page.get_by_role("combobox", name="task").select_option("control")
        expect(said).to_contain_text("there is nothing to compare")
        page.get_by_role("combobox", name="what differs").select_option(label="only the seed")
        expect(said).to_contain_text("Correlation over seeds")
        narrow(page)
