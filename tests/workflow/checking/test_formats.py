from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from ntpcompanion.workflow.checking.check_report import Report, Reported
from ntpcompanion.workflow.checking.formats import annotations, headline, junit, markdown
from ntpcompanion.workflow.claims.measurement import Measurement
from tests.workflow.checking.cases import AS_STORED, HALF_MISSING, HALF_MOVED, report_of

ACCEPT = (
    "If the new number is right, accept it: `ntpcompanion check --profile book --update`, and "
    "commit `tests/baselines/book.json`. If not, fix the change that moved it."
)


def half(value, stderr):
    return Measurement.of("toy.half", value, stderr=stderr, replicates=5)


def borderline(toy):
    now = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": half(0.57, 0.015)}}
    before = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": half(0.55, 0.015)}}
    return report_of(toy, now, before)


def saying(text, **changes):
    finding = {"kind": "moved", "fault": True, "notebook": "coin", "claim": "toy.half"}
    finding |= {"file": "notebooks/coin.md", "line": 7, "text": text}
    return Report(profile="book", outcome="differs", findings=[Reported(**finding | changes)])


def test_each_claim_is_a_test_case_and_a_drift_a_failure(toy):
    root = ElementTree.fromstring(junit(report_of(toy, HALF_MOVED, AS_STORED)))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    assert root.get("failures") == "1"
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["toy.half", "toy.powers", "toy.words"]
    assert [case.get("classname") for case in suite] == ["coin", "coin", "words"]
    assert cases["toy.half"].get("file") == "notebooks/coin.md"
    (failure,) = cases["toy.half"]
    assert failure.get("message").startswith("toy.half: baseline 0.5, now 0.52")
    assert len(cases["toy.powers"]) == 0


def test_a_note_is_output_and_no_failure(toy):
    (suite,) = ElementTree.fromstring(junit(borderline(toy)))
    assert suite.get("failures") == "0"
    assert "borderline" in suite[0].findtext("system-out")


def test_what_belongs_to_no_claim_of_the_profile_has_a_case(toy):
    strange = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_halve": 1.0}}
    (suite,) = ElementTree.fromstring(junit(report_of(toy, strange)))
    assert [case.get("name") for case in suite if len(case)] == ["toy.halve"]
    assert suite.get("tests") == "4"


def test_what_could_not_be_compared_is_an_error_everywhere():
    report = Report(profile="book", outcome="error", error="coin (book): never run\x1b, 5 % < 6")
    (suite,) = ElementTree.fromstring(junit(report))
    assert suite.get("errors") == "1"
    assert "never run\N{REPLACEMENT CHARACTER}, 5 % < 6" in suite[0].findtext("error")
    assert annotations(report) == [
        "::error title=ntpcompanion check::coin (book): never run\x1b, 5 %25 < 6"
    ]
    assert "Nothing could be compared" in markdown(report)


def test_an_annotation_marks_the_line_of_the_call(toy):
    report = report_of(toy, HALF_MOVED, AS_STORED)
    line = report.findings[0].line
    assert annotations(report) == [
        f"::error file=notebooks/coin.md,line={line},title=toy.half%3A moved at profile book::"
        f"toy.half: baseline 0.5, now 0.52, moved 0.02, band ± 0.005%0A{ACCEPT}"
    ]
    assert annotations(report, "papers/one")[0].startswith("::error file=papers/one/notebooks/coin")
    assert annotations(borderline(toy))[0].startswith("::warning file=")


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
    (line,) = annotations(saying(text))
    assert line.endswith(f"::{escaped}")
    assert len(line.splitlines()) == 1


def test_a_property_cannot_end_early():
    (line,) = annotations(saying("x", file="C:/a,b%/coin.md", claim="toy\nhalf"))
    assert line == (
        "::error file=C%3A/a%2Cb%25/coin.md,line=7,title=toy%0Ahalf%3A moved at profile book::x"
    )


def test_the_table_names_what_moved_and_success_is_told_too(toy):
    assert markdown(report_of(toy, AS_STORED)).splitlines()[-1] == "3 claims agree; 0 moved."
    text = markdown(report_of(toy, HALF_MOVED, AS_STORED))
    assert "2 claims agree; 1 moved.\n" in text
    row, _, advice = text.splitlines()[-3:]
    assert advice == ACCEPT
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        f"`toy.half`<br>notebooks/coin.md:{report_of(toy, HALF_MOVED).claims[0].line}",
        "0.5",
        "0.52",
        "supported",
        "baseline 0.5, now 0.52, moved 0.02, band ± 0.005",
    ]


def test_a_small_drift_is_seen_in_the_columns_too(toy):
    """Four digits of both would be the same."""
    near = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_powers": [1.0, 2.000001, 4.0]}}
    text = markdown(report_of(toy, near, AS_STORED))
    assert "| 1, 2, 4 | 1, 2.000001, 4 |" in text
    assert "value 2 of 3: baseline 2, now 2.000001, moved 1e-06" in text
    halves = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": 0.523456}}
    before = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": 0.52346}}
    toy.edit("book/claims.yml", "relative: 0.01", "relative: 1.0e-9")
    assert "| 0.52346 | 0.523456 |" in markdown(report_of(toy, halves, before))


def test_a_claim_is_named_in_plain_words_where_it_has_them(toy):
    report = report_of(toy, HALF_MOVED, AS_STORED)
    short = "one half | of one"
    claims = [c.model_copy(update={"short": short}) for c in report.claims]
    assert r"<br>one half \| of one | 0.5 |" in markdown(
        report.model_copy(update={"claims": claims})
    )


def test_what_to_do_is_said_once_for_each_kind_of_fault(toy):
    both = {**AS_STORED, "coin": {"toy_half": 0.7, "toy_powers": [1.0, 2.0, 5.0]}}
    report = report_of(toy, both, AS_STORED)
    assert {finding.kind for finding in report.faults} == {"moved", "verdict"}
    assert report.advice[0] == ACCEPT
    assert len(report.advice) == 2
    assert "`expected_verdict` of the claim in `book/claims.yml`" in report.advice[1]
    text = markdown(report)
    assert all(text.count(sentence) == 1 for sentence in report.advice)
    (row,) = [line for line in text.splitlines() if line.startswith("| `toy.half`")]
    assert "moved 0.2, band ± 0.005<br>verdict refuted, expected supported" in row
    assert "| refuted, expected supported |" in row
    (suite,) = ElementTree.fromstring(junit(report))
    assert suite[0].findtext("failure").splitlines()[-2:] == report.advice
    missing = report_of(toy, HALF_MISSING, AS_STORED)
    assert missing.advice == [
        "Measure the claim in its notebook, or take it out of `book/claims.yml`."
    ]
    assert report_of(toy, AS_STORED).advice == borderline(toy).advice == []


def test_a_verdict_that_changed_and_a_value_that_is_missing(toy):
    moved = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": 0.7}}
    assert "| refuted, expected supported |" in markdown(report_of(toy, moved))
    assert headline(report_of(toy, moved)) == "2 claims agree; 0 moved; 1 with another fault."
    text = markdown(report_of(toy, HALF_MISSING, AS_STORED))
    assert "| 0.5 | – | not measured |" in text
    assert headline(report_of(toy, HALF_MISSING, AS_STORED)).startswith(
        "2 claims agree; 0 moved; 1"
    )
    assert markdown(borderline(toy)).splitlines()[-1].startswith("- toy.half: verdict inconclusive")


def test_a_table_stays_a_table_whatever_a_sentence_holds():
    text = markdown(saying("a | b\n| c <b>`d`</b> [e](f) *g* $h$"))
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    cells = [token for token in tokens if token.type == "td_open"]
    assert len(cells) == 5
    inline = [child for token in tokens for child in token.children or []]
    kinds = {child.type for child in inline}
    assert kinds <= {"text", "text_special", "code_inline", "html_inline"}
    assert {c.content for c in inline if c.type == "html_inline"} == {"<br>"}
    assert {c.content for c in inline if c.type == "code_inline"} == {"toy.half"}


def test_of_many_values_a_few_are_shown(toy):
    many = {**AS_STORED, "coin": {"toy_half": 0.7, "toy_powers": [1.0, 2.0, 1.5, 8.0]}}
    text = markdown(report_of(toy, many))
    assert "| 1, 2, …, 8 |" in text
