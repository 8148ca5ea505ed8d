"""Every notebook of the book at its smoke profile: it runs, measures what it claims, and moves no
number.
"""

import ast
import re
from math import copysign, inf
from pathlib import Path

import jupytext
import pytest
from jupytext.config import load_jupytext_config

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.check_report import check_results
from ntpcompanion.workflow.checking.value_comparison import read_baseline
from ntpcompanion.workflow.claims.claims import Band, load_claims
from ntpcompanion.workflow.hashing.imported_files import read_stub, source_hashes
from ntpcompanion.workflow.notebooks.cells import code_cells
from ntpcompanion.workflow.notebooks.notebook import find_notebooks, imported_modules
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from ntpcompanion.workflow.pages.views import read_papers
from ntpcompanion.workflow.running.results import complaints
from ntpcompanion.workflow.running.runs import current_results, load_executed
from tests.smoke import smoke_runs
from tests.sources import PACKAGE

NOTEBOOKS = find_notebooks(Project.find())
# Drawings of an example by hand, and figures whose data stand under an earlier one.
WITHOUT_DATA = {
    "adam": {"fig-runs"},  # data under fig-growth
    "corrections": {
        "fig-viterbi",
        "fig-more-contexts",
        "fig-legs",
        "fig-factor-two",
        "fig-inner-widths",
        "fig-word-context",
        "fig-entropies",
    },
    "dyck": {"fig-by-hand", "fig-kink"},
    "flatness_downstream": {"fig-held"},  # data under fig-held-grammar
    "ntp_svm": {"fig-plane", "fig-parts"},
    "pitfalls": {"fig-path-star", "fig-path-star-touch"},
    "separability": {"fig-cone"},
    "sgd_flatness": {"fig-valley"},
    "sparse_contexts": {"fig-text-table"},
}


def baseline(profile):
    """The stored measurements of a profile, whatever text they were made on."""
    stored = read_baseline(Project.find().baseline(profile))
    return [item for items in stored.values() for item in items.values()]


@pytest.fixture(scope="module")
def executed():
    return smoke_runs()


def test_no_number_moved_and_every_verdict_is_as_expected(executed):
    project, runs = executed
    assert check_results(project, current_results(runs), "smoke").faults == []


def test_no_cell_of_the_book_warns(executed):
    _, runs = executed
    said = {run.notebook.name: complaints(load_executed(run.executed)) for run in runs}
    assert {name: lines for name, lines in said.items() if lines} == {}


def test_every_claim_is_expected_somewhere_cited_and_put_into_words():
    project = Project.find()
    claims = load_claims(project).values()
    assert claims
    assert {claim.paper for claim in claims} <= read_papers(project).keys()
    assert [claim.id for claim in claims if not (claim.short and claim.quantity)] == []
    # what the book does not measure says how it would be measured
    assert all(
        claim.measured_at("book") or "`ntpcompanion execute" in claim.measures for claim in claims
    )


def test_mathematics_of_a_claim_is_marked_as_such():
    """A card shows raw markup as it stands; what stands in $…$ or in `…` is set."""
    fields = ("locator", "statement", "short", "quantity", "why", "measures", "source")
    fields += ("exploratory", "close", "paper_value")
    raw = re.compile(r"\^|‖|\\\w|\b\w_\w|[)\]}]_\w|\de-?\d|\blog\d")
    texts = ("t^2", "W_mm", "snake_case", "1e-5", "log10 of", "log 10")
    assert [text for text in texts if not raw.search(text)] == ["snake_case", "log 10"]
    for claim in load_claims(Project.find()).values():
        for field in fields:
            text = re.sub(r"\$[^$]*\$|`[^`]*`", "", str(getattr(claim, field) or ""))
            assert not raw.search(text), f"{claim.id}: `{field}` has {text!r}: write it in $…$."


def test_a_sentence_on_an_expected_effect_says_how_large_it_is():
    """Where an interval falls short of δ, "refuted" stands beside what may be true in sign."""
    judged = {
        claim.id: (claim, expected.effect)
        for claim in load_claims(Project.find()).values()
        for expected in [claim.expectation_at("book") or claim.expectation_at("paper")]
        if expected and expected.effect
    }
    assert judged
    for claim, delta in judged.values():
        assert "at least" in claim.statement, claim.id
        assert "at least" in claim.short, claim.id
        assert f"{abs(delta):g}" in claim.statement, claim.id


def test_every_id_stands_literally_in_one_cell():
    """A search for the id of a claim finds the cell that measures it."""
    cells = [
        (name, cell.source)
        for name, notebook in NOTEBOOKS.items()
        for cell in code_cells(notebook.node)
    ]
    for claim in load_claims(Project.find()).values():
        holding = [name for name, source in cells if f'"{claim.id}"' in source]
        assert holding == [claim.notebook], (
            f"{claim.id} stands in the code of {holding or 'no cell'}"
        )


@pytest.mark.parametrize("profile", ["smoke", "book"])
def test_a_band_is_for_exact_values(profile):
    claims = load_claims(Project.find())
    random = [item.claim for item in baseline(profile) if item.claim in claims and not item.exact]
    assert random
    assert [name for name in random if claims[name].band != Band()] == [], (
        "Welch's test compares these"
    )


def distance_from_edge(claim, profile, measurement):
    """How many standard errors the value could move before its side of the expectation changed;
    infinite if it is exact.
    """
    if measurement.exact or (expected := claim.expectation_at(profile)) is None:
        return inf
    # with its standard errors in place of the half widths of its interval
    slacks = expected.slack(measurement.values, measurement.errors)
    return abs(
        min(copysign(inf, s.value) if not s.half_width else s.value / s.half_width for s in slacks)
    )


def test_no_verdict_hangs_on_luck():
    """At the book profile a verdict lies three standard errors from its edge, or its claim says why
    not.
    """
    claims = load_claims(Project.find())
    judged = [
        item
        for item in baseline("book")
        if item.claim in claims and claims[item.claim].expected_verdict != "inconclusive"
    ]
    near = {
        item.claim for item in judged if distance_from_edge(claims[item.claim], "book", item) < 3
    }
    assert near == {claim.id for claim in claims.values() if claim.close}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_house_rules_of_a_notebook(name):
    node = NOTEBOOKS[name].node
    cells = code_cells(node)
    assert all(not cell.outputs for cell in cells)
    assert max(len(cell.source.splitlines()) for cell in cells[1:]) <= 21
    assert max(len(line) for cell in cells for line in cell.source.splitlines()) <= 82, (
        "wider lines are cut off on the page"
    )
    assert sum(cell.source.count("def ") for cell in cells) <= 1
    for cell in cells:
        settings = cell.metadata.get("mystnb", {})
        if "figure" in settings:
            assert len(settings["image"]["alt"]) > 30, "the alt text says what is to be seen"
            assert len(settings["figure"]["caption"]) > 60
    assert set(read_profiles(Project.find(), NOTEBOOKS)[name]) == {"smoke", "book", "paper"}
    for parameter in NOTEBOOKS[name].parameters.values():
        assert parameter.meaning
        model = parameter.default[0] if isinstance(parameter.default, list) else parameter.default
        assert parameter.domain or isinstance(model, (str, bool)), (
            f"{parameter.name}: end its comment in a domain like [1, inf)"
        )


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_data_of_every_measured_figure_can_be_saved(name):
    source = NOTEBOOKS[name].path.read_text(encoding="utf-8")
    figures = re.split(r"^    name: (fig-[\w-]+)$", source, flags=re.MULTILINE)[1:]
    pairs = zip(figures[::2], figures[1::2], strict=True)
    without = {figure for figure, until_next in pairs if "csv_link(" not in until_next}
    assert without == WITHOUT_DATA.get(name, set())


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_saved_by_jupyter_keeps_its_inputs_and_records(name):
    path = NOTEBOOKS[name].path
    saved = jupytext.writes(
        jupytext.read(path, fmt="md:myst"), fmt="md:myst", config=load_jupytext_config(str(path))
    )
    again = jupytext.reads(saved, fmt="md:myst").metadata
    assert again.get("ntp", {}) == NOTEBOOKS[name].settings
    assert again.kernelspec == NOTEBOOKS[name].node.metadata.kernelspec


def test_a_notebook_imports_public_names_only():
    """Of packages that list them, or of a module at the root of the package."""
    listed = {path.parent.relative_to(PACKAGE): read_stub(path.parent)
              for path in PACKAGE.rglob("__init__.pyi")}  # fmt: skip
    private = []
    for name, notebook in NOTEBOOKS.items():
        source = "\n".join(cell.source for cell in code_cells(notebook.node))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                f"{PACKAGE.name}."
            ):
                place = Path(*node.module.split(".")[1:])
                if (PACKAGE / place).is_dir() or len(place.parts) > 1:
                    names = {alias.name for alias in node.names} - listed.get(place, {}).keys()
                    private += [f"{name}: {node.module}.{each}" for each in names]
    assert private == []


def test_no_notebook_rests_on_files_that_it_does_not_import():
    packages = Project.find().packages
    used = {n: source_hashes(imported_modules(b.node), *packages) for n, b in NOTEBOOKS.items()}
    assert not [n for n, files in used.items() if "workflow/printing/pdf.py" in files]
