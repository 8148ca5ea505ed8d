"""The reports of a check in full, and what no sentence can do to their form."""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from ntpcompanion.workflow.checking.baselines import updated
from ntpcompanion.workflow.checking.check_report import Report, make_report
from ntpcompanion.workflow.checking.formats import annotations, markdown
from ntpcompanion.workflow.checking.value_comparison import Finding
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judged_claims
from tests.toy import make_toy
from tests.workflow.checking.test_baselines import result

GOLDEN = Path(__file__).with_name("golden")
AS_STORED = {"coin": {"toy_half": 0.5, "toy_powers": [1.0, 2.0, 4.0]}, "words": {"toy_words": 3.0}}
HALF_MOVED = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": 0.52}}
HALF_MISSING = {**AS_STORED, "coin": {"toy_powers": [1.0, 2.0, 4.0]}}
COIN = AS_STORED["coin"]


def report_of(toy, now, before=None):
    """The report of measured values `now` (by notebook, by claim) where `before` are stored."""
    stored = updated({}, {name: result(name, **values) for name, values in (before or now).items()})
    results = {name: result(name, **values) for name, values in now.items()}
    claims = load_claims(toy.project)
    judged = judged_claims(claims, [i for r in results.values() for i in r.measurements], "book")
    return make_report(toy.project, results, judged, stored, "book")


def coin(half, **others):
    """What is stored, with another half; an error makes it random."""
    return {**AS_STORED, "coin": {**COIN, "toy_half": half, **others}}


def random(value):
    return Measurement.of("toy.half", value, stderr=0.015, replicates=5)


def reports(toy):
    """What a check may end in: the name of each outcome with its report."""
    many = {"toy_powers": [1.0, 2.0, 1.5, 8.0], "toy_halve": 1.0}
    return {
        "agrees": report_of(toy, AS_STORED),
        "moved": report_of(toy, HALF_MOVED, AS_STORED),
        "moved and refuted": report_of(toy, coin(0.7, toy_powers=[1.0, 2.0, 5.0]), AS_STORED),
        "missing": report_of(toy, HALF_MISSING, AS_STORED),
        "borderline": report_of(toy, coin(random(0.57)), coin(random(0.55))),
        "of no claim": report_of(toy, coin(0.5, **many)),
        "error": Report(profile="book", error="never run, 5 % < 6"),
    }


def written(toy):
    """Both formats of all, under their titles."""
    formats = {
        "annotations.txt": lambda report: "\n".join(annotations(report)) + "\n",
        "summary.md": markdown,
    }
    made = reports(toy)
    return {
        name: "\n".join(f"== {title}\n{form(report)}" for title, report in made.items())
        for name, form in formats.items()
    }


def saying(text, **changes):
    finding = {"kind": "moved", "notebook": "coin", "claim": "toy.half"}
    finding |= {"file": "notebooks/coin.md", "line": 7, "text": text}
    return Report(profile="book", findings=[Finding(**finding | changes)])


def test_the_reports_of_each_outcome_are_as_they_were(toy):
    """`python -m tests.workflow.checking.test_formats FOLDER` writes them, with a toy project in an
    empty folder: read the difference.
    """
    for name, text in written(toy).items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


def test_a_small_drift_is_seen_in_the_columns_too(toy):
    """Four digits of both would be the same."""
    near = report_of(toy, coin(0.5, toy_powers=[1.0, 2.000001, 4.0]), AS_STORED)
    assert "| 1, 2, 4 | 1, 2.000001, 4 |" in markdown(near)
    toy.edit("book/claims.yml", "relative: 0.01", "relative: 1.0e-9")
    assert "| 0.52346 | 0.523456 |" in markdown(report_of(toy, coin(0.523456), coin(0.52346)))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50 % of it", "50 %25 of it"),
        ("one\r\ntwo\nthree", "one%0D%0Atwo%0Athree"),
        ("a:b,c::d", "a:b,c::d"),
        ("%0A", "%250A"),
    ],
)
def test_a_text_stays_on_its_line(text, escaped):
    (line,) = annotations(saying(text, kind="unknown"))
    assert line.endswith(f"::{escaped}")
    assert len(line.splitlines()) == 1


def test_a_property_cannot_end_early():
    (line,) = annotations(saying("x", kind="unknown", file="C:/a,b%/coin.md", claim="toy\nhalf"))
    assert line == (
        "::error file=C%3A/a%2Cb%25/coin.md,line=7,title=toy%0Ahalf%3A unknown at profile book::x"
    )


def test_a_table_stays_a_table_whatever_a_sentence_holds():
    text = markdown(saying(kind="unknown", text="a | b\n| c <b>`d`</b> [e](f) *g* $h$"))
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    cells = [token for token in tokens if token.type == "td_open"]
    assert len(cells) == 5
    inline = [child for token in tokens for child in token.children or []]
    kinds = {child.type for child in inline}
    assert kinds <= {"text", "text_special", "code_inline", "html_inline"}
    assert {c.content for c in inline if c.type == "html_inline"} == {"<br>"}
    assert {c.content for c in inline if c.type == "code_inline"} == {"toy.half"}


if __name__ == "__main__":
    import sys

    for name, text in written(make_toy(Path(sys.argv[1]))).items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
