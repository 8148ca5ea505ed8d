"""The summary of a check in full, and what no sentence can do to its form."""

from pathlib import Path

from markdown_it import MarkdownIt

from ntpcompanion.workflow.checking.check_report import Report, make_report, markdown
from ntpcompanion.workflow.checking.value_comparison import Finding, updated
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from tests.toy import make_toy
from tests.workflow.checking.test_baselines import result

GOLDEN = Path(__file__).parent / "golden" / "summary.md"
AS_STORED = {"coin": {"toy_half": 0.5, "toy_powers": [1.0, 2.0, 4.0]}, "words": {"toy_words": 3.0}}
HALF_MOVED = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": 0.52}}
HALF_MISSING = {**AS_STORED, "coin": {"toy_powers": [1.0, 2.0, 4.0]}}
COIN = AS_STORED["coin"]


def report_of(toy, now, before=None):
    """The report of measured values `now` (by notebook, by claim) where `before` are stored."""
    stored = updated({}, {name: result(name, **values) for name, values in (before or now).items()})
    results = {name: result(name, **values) for name, values in now.items()}
    return make_report(load_claims(toy.project), results, stored, "book")


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
    """The summaries of all, under their titles."""
    return "\n".join(f"== {title}\n{markdown(report)}" for title, report in reports(toy).items())


def saying(text, **changes):
    finding = {"kind": "moved", "notebook": "coin", "claim": "toy.half", "text": text}
    return Report(profile="book", findings=[Finding(**finding | changes)])


def test_the_summary_of_each_outcome_is_as_it_was(toy):
    """`python -m tests.workflow.checking.test_formats FOLDER` writes it, with a toy project in an
    empty folder: read the difference.
    """
    assert written(toy) == GOLDEN.read_text(encoding="utf-8")


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

    GOLDEN.write_text(written(make_toy(Path(sys.argv[1]))), encoding="utf-8")
