"""Numbers and texts that were not made by a run: rejected, or shown as plain text."""

import json
import re

import nbformat
import pytest

from ntpcompanion.workflow.base.files import checksum
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.running.results import outputs_digest
from tests.toy import write_claims

LIVE = "x <y and z> w, <script>alert(1)</script>, *star*, $a < b$"


def reseal(path, change):
    """Change a results file as somebody would who knows how to seal it."""
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data | {"checksum": checksum(data)}))


def test_a_baseline_that_is_no_number_switches_nothing_off(executed):
    assert "Wrote" in executed.command("check", "--profile", "book", "--update")
    path = executed.project.baseline("book")
    path.write_text(path.read_text().replace("0.5", "NaN"))
    assert "book.json cannot be read: `value` of 'toy.half' is nan" in executed.command(
        "check", "--profile", "book", code=1
    )


WRONG = {
    "negative error": ({"stderr": -1}, "`stderr` of 'toy.half' must not be negative"),
    "text": ({"value": "0.5"}, "`value` of 'toy.half' must be a number"),
    "script": ({"seed": "<script>"}, "`seed` of 'toy.half' must be an integer or None"),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name != "negative error"))
        for name, case in WRONG.items()
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_an_output_that_measure_did_not_make_fails_the_run(toy, change, words):
    made = {
        "id": "toy.half",
        "value": 0.5,
        "stderr": 0.0,
        "replicates": None,
        "seed": None,
        "records": [],
    }
    shown = (
        f"from IPython.display import display\ndisplay({{{MEASUREMENT_MIME!r}: "
        f"{made | change!r}}}, raw=True)"
    )
    toy.edit("notebooks/coin.md", 'measure("toy.half", half(n) / n, seed=seed)', shown)
    output = toy.command("execute", "coin", code=1)
    assert f"Notebook 'coin' shows what is not a measurement: {words}" in output
    assert not (toy.project.book / "chapters" / "coin.json").exists()


def test_a_result_that_differs_from_its_page_is_stale(executed):
    """With a fresh checksum, the ledger would show another number than the page."""

    def change(data):
        data["measurements"][0]["value"] = 0.55

    reseal(executed.project.book / "chapters" / "coin.json", change)
    assert "coin.ipynb does not match coin.json" in executed.command("why", "coin")
    assert "coin (book): coin.ipynb does not match coin.json" in executed.command(
        "check", "--profile", "book", code=1
    )


def test_a_forged_page_and_result_fail_by_a_sentence(executed):
    page, results = (
        executed.project.book / "chapters" / f"coin{suffix}" for suffix in (".ipynb", ".json")
    )
    page.write_text(page.read_text().replace('"stderr": 0.0', '"stderr": -1.0', 1))

    def change(data):
        data["measurements"][0]["stderr"] = -1.0
        data["outputs"] = outputs_digest(nbformat.read(page, 4))

    reseal(results, change)
    assert "`stderr` of 'toy.half' must not be negative" in executed.command("why", "coin")


@pytest.mark.parametrize(
    "tag", ["remove-output", "remove-cell", "remove_cell", "hide-output", "hide-cell"]
)
def test_a_measuring_cell_that_shows_nothing_is_refused(executed, tag):
    executed.edit(
        "notebooks/words.md",
        "```{code-cell} ipython3\nfrom pathlib",
        f"```{{code-cell}} ipython3\n:tags: [{tag}]\nfrom pathlib",
    )
    output = executed.command("build", code=1)
    hyphened = tag.replace("_", "-")
    assert (
        f"the cell that measures toy.words is tagged `{hyphened}`, and its cards would be missing"
        in output
    )


@pytest.mark.slow
def test_text_is_never_live_html(importable):
    """In a statement, a paper's value, a title, and what a record says of itself; two ids that
    differ in one sign.
    """
    toy = importable
    toy.plan_halves(about=f"Halves: {LIVE}")
    toy.command("record", "halves", "--jobs", "1")
    reseal(
        toy.project.records / "halves.json", lambda data: data["hardware"].update(processor=LIVE)
    )
    texts = dict.fromkeys(("statement", "short", "why", "paper_value", "locator"), LIVE)
    write_claims(toy.project, **texts, quantity="<y and z> (nats)", id="toy.po-wers")
    toy.edit("notebooks/coin.md", '"toy.half"', '"toy.po-wers"')
    toy.edit("notebooks/coin.md", "toy.powers", "toy.po.wers")
    toy.edit("book/claims.yml", "toy.powers", "toy.po.wers")
    toy.edit("notebooks/words.md", "inputs: [text]", "inputs: [text], records: [halves]")
    toy.edit(
        "notebooks/words.md",
        "import measure",
        'import measure, show_record\n_ = show_record("halves")',
    )
    toy.edit(
        "notebooks/words.md",
        "Path(text).read_text().split()))",
        'Path(text).read_text().split()), records="halves")',
    )
    toy.edit("notebooks/words.md", "# Words", "# Words < letters")
    assert "toy.po-wers" in load_claims(toy.project)
    toy.command("build")
    pages = {
        name: (toy.project.html("book") / f"{name}.html").read_text()
        for name in ("ledger", "status", "chapters/coin", "chapters/words")
    }
    for name, page in pages.items():
        assert "<script>alert" not in page, name
        assert "<y and z>" not in page, name
    for name in ("ledger", "chapters/coin", "chapters/words"):
        assert (
            "x &lt;y and z&gt; w, &lt;script&gt;alert(1)&lt;/script&gt;, *star*, " in pages[name]
        ), name
    assert r"\(a &lt; b\)</span>" in pages["ledger"]
    anchors = re.findall(r'id="(claim-[^"]+)"', pages["chapters/coin"])
    assert sorted(anchors) == ["claim-toy_po-wers", "claim-toy_po_wers"]
    assert "<dt>Made on</dt><dd>record halves, " in pages["chapters/words"]
