from dataclasses import replace

from ntpcompanion.settings import Settings
from ntpcompanion.workflow.chapters import cards
from ntpcompanion.workflow.chapters.citation import Book, Chapter
from ntpcompanion.workflow.claims.claims import Claim, judge
from ntpcompanion.workflow.claims.formatting import mathematics
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.records.record import Record
from tests.toy import CLAIM
from tests.workflow.claims.test_baselines import result

BOOK = Book("A book", "Its authors", settings=Settings(name="paper", version="1.2"))
CHAPTER = Chapter(BOOK, "coin", "A coin", "2026")
RECORD = Record(
    "runs", [], {"width": 64, "seed": [0, 1]}, "Runs.", "yesterday on <another> chip", []
)


def claim_that(**changes):
    return Claim.model_validate(
        {**CLAIM, "id": "toy.x", "notebook": "coin", "expect": {"book": {"at_most": 2}}, **changes}
    )


def card(value, records=(), claim=None, **options):
    claim, item = claim or claim_that(), Measurement.of("toy.x", value, **options)
    made = replace(
        result("coin"),
        parameters={"n": 3, "mode": "<a>"},
        hardware={"processor": "A & B", "cores": 2},
    )
    return cards.card(claim, judge(claim, "book", item), item, made, CHAPTER, records)


def test_a_badge_is_text_and_says_whose_claim_it_is():
    stated, ours = claim_that(), claim_that(kind="ours", scope="smaller")
    badge = (
        '<span class="ntp-badge ntp-not-measured">not measured</span> '
        '<span class="ntp-kind">{}</span>'
    )
    assert cards.badge("not measured", stated) == badge.format("stated")
    assert cards.badge("not measured", ours) == badge.format("ours"), (
        "what is not judged holds at no scale"
    )
    assert '"ntp-badge ntp-refuted">refuted at our scale</span>' in cards.badge("refuted", ours)
    one = ours.model_copy(update={"scope": "text"})
    assert ">supported on the default text</span>" in cards.badge("supported", one)
    assert ">not measured</span>" in cards.badge("not measured", one)
    assert '"ntp-badge ntp-refuted">refuted</span>' in cards.badge("refuted", stated)


def test_claims_never_share_an_anchor():
    assert cards.anchor("ntp.thm2.direction") == "claim-ntp_thm2_direction"
    assert cards.anchor("toy.a.b") != cards.anchor("toy.a-b")


def rows(html):
    return [part.split("</dt>")[0] for part in html.split("<dt>")[1:]]


def test_the_first_line_is_the_claim_in_words_with_the_number_and_whose_it_is():
    claim = claim_that(short="Half of <all> $n$.", quantity="share of $n$", paper_value=0)
    assert card(3.0, claim=claim).partition("<dl>")[0] == (
        '<details class="ntp-card mathjax_process" id="claim-toy_x"><summary><span '
        'class="ntp-badge ntp-refuted">refuted</span> '
        '<span class="ntp-short">Half of &lt;all&gt; <span class="mathjax_process">'
        r"\(n\)</span>.</span> "
        '<span class="ntp-facts">share of <span class="mathjax_process">'
        r"\(n\)</span> = <strong "
        'class="ntp-number">3</strong> <span class="ntp-paper">(paper: 0)</span></span> '
        '<span class="ntp-whose"><span class="ntp-kind" title="the paper states it">stated</span> '
        '· <span class="ntp-locator">Theorem 1 of the paper</span></span></summary>'
    )


def test_a_claim_without_words_of_its_own_shows_its_statement():
    first = card(1.0).partition("<dl>")[0]
    assert f'<span class="ntp-short">{mathematics(CLAIM["statement"])}</span>' in first
    assert 'measured = <strong class="ntp-number">1</strong></span>' in first


def test_what_tells_claims_about_one_place_apart_stands_among_the_details():
    first, _, details = card(1.0, claim=claim_that(locator="Theorem 2, rate")).partition("<dl>")
    assert "Theorem 2 of the paper" in first
    assert "rate" not in first
    assert "<dt>Whose</dt><dd>the paper states it, Theorem 2, rate</dd>" in details


def test_the_details_say_what_was_claimed_measured_and_expected():
    html = card(1.0, stderr=0.25, replicates=5, seed=0)
    assert rows(html) == [
        "Claim",
        "Whose",
        "Read from",
        "Setting",
        "Measured",
        "Expected",
        "Expected number from",
        "Values",
        "Random",
        "Parameters",
        "Made on",
        "Id",
        "Cite",
    ]
    for text in (
        "n = 3, mode = &#x27;&lt;a&gt;&#x27;",
        "<dt>Made on</dt><dd>A &amp; B, 2 cores</dd>",
        '<dt>Id</dt><dd><a href="#claim-toy_x"><code>toy.x</code></a></dd>',
        "<dt>Random</dt><dd>5 independent replicates, 95 % interval of Student&#x27;s t, seed "
        "0</dd>",
        "<dt>Read from</dt><dd>the text of the paper</dd>",
        "<dt>Expected</dt><dd>≤ 2</dd>",
        "<dt>Values</dt><dd>1.00 ± 0.25</dd>",
        f"<dt>Claim</dt><dd>{mathematics(CLAIM['statement'])}</dd>",
    ):
        assert text in html
    assert html.endswith("</code></pre></dd></dl></details>")


def test_a_card_can_be_cited():
    html = card(3.0, claim=claim_that(short="Half of <all>", quantity="share"))
    cited = html.partition("<dt>Cite</dt>")[2]
    assert "title = {Half of &lt;all&gt;}" in cited
    assert "note = {refuted: share = 3; paper 1.2}" in cited


def test_why_follows_the_claim():
    html = card(1.0, claim=claim_that(why="Because $a < b$."))
    assert rows(html)[:3] == ["Claim", "Why", "Whose"]
    assert "<dt>Why</dt><dd>Because <span" in html


def test_a_statement_known_to_fail_says_so():
    html = card(3.0, claim=claim_that(expected_verdict="refuted"))
    assert "<dt>Expected verdict</dt><dd>refuted</dd>" in html


def test_a_card_says_whether_chance_enters():
    assert "<dt>Random</dt><dd>exact: nothing random enters</dd>" in card(3.0)
    assert "<dt>Random</dt><dd>exact for what seed 7 drew</dd>" in card(3.0, seed=7)


def test_what_is_not_judged_says_why():
    assert "not judged: nothing is expected at profile book" in card(
        3.0, claim=claim_that(expect={"paper": {"at_most": 2}})
    )
    html = card(3.0, claim=claim_that(expect={}, exploratory="one training seed"))
    assert "ntp-exploratory" in html
    assert "<dt>Expected</dt><dd>not judged: one training seed</dd>" in html
    assert "Expected verdict" not in html


def test_a_number_of_a_record_shows_where_that_was_made():
    html = card(1.0, records=[RECORD])
    assert "<dt>Parameters</dt><dd>runs: width = 64, seed = [0, 1]</dd>" in html
    assert "<dt>Made on</dt><dd>record runs, yesterday on &lt;another&gt; chip</dd>" in html
    assert "A &amp; B" not in html


def test_a_number_is_told_apart_from_the_bound_that_it_misses():
    assert 'ntp-number">2.0000001</strong>' in card(2.0000001)
    html = card(1.23401, claim=claim_that(expect={"book": {"at_most": 1.234}}))
    assert 'ntp-number">1.23401</strong>' in html
    assert "<dt>Expected</dt><dd>≤ 1.234</dd>" in html
