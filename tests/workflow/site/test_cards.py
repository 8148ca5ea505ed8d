from dataclasses import replace

from ntpcompanion.workflow.claims.claims import Claim, judge
from ntpcompanion.workflow.claims.formatting import mathematics
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.site import cards
from tests.toy import CLAIM
from tests.workflow.claims.test_baselines import result

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
    return cards.card(claim, judge(claim, "book", item), item, made, records)


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
    assert '"ntp-badge ntp-refuted">refuted</span>' in cards.badge("refuted", stated)


def test_claims_never_share_an_anchor():
    assert cards.anchor("ntp.thm2.direction") == "claim-ntp_thm2_direction"
    assert cards.anchor("toy.a.b") != cards.anchor("toy.a-b")


def test_a_card_says_what_was_claimed_measured_and_expected():
    html = card(1.0, stderr=0.25, replicates=5, seed=0)
    assert html.startswith(
        '<details class="ntp-card mathjax_process" id="claim-toy_x"><summary><span '
        'class="ntp-badge ntp-supported">supported</span> '
        '<span class="ntp-kind">stated</span> <span class="ntp-locator">Theorem 1</span> '
        '<span class="ntp-facts">ours 1.00 ± 0.25 · expected ≤ 2</span></summary><dl>'
    )
    rows = [
        "Claim",
        "Whose",
        "Read from",
        "Setting",
        "Measured",
        "Expected number from",
        "Values",
        "Expected verdict",
    ]
    rows += ["Parameters", "Random", "Made on", "Id"]
    assert [part.split("</dt>")[0] for part in html.split("<dt>")[1:]] == rows
    for text in (
        "n = 3, mode = &#x27;&lt;a&gt;&#x27;",
        "<dt>Made on</dt><dd>A &amp; B, 2 cores</dd>",
        "<code>toy.x</code>",
        "<dt>Random</dt><dd>5 independent replicates, 95 % interval of Student&#x27;s t, seed "
        "0</dd>",
        "<dt>Whose</dt><dd>the paper states it</dd><dt>Read from</dt><dd>the text of the "
        "paper</dd>",
        mathematics(CLAIM["statement"]),
    ):
        assert text in html
    assert html.endswith("</dd></dl></details>")


def test_a_card_shows_the_number_of_the_paper_and_whether_chance_enters():
    html = card(3.0, claim=claim_that(paper_value=0))
    assert "ours 3 · expected ≤ 2 · paper 0" in html
    assert "<dt>Random</dt><dd>exact: nothing random enters</dd>" in html
    assert "<dt>Random</dt><dd>exact for what seed 7 drew</dd>" in card(3.0, seed=7)


def test_what_is_not_judged_says_why():
    assert "not judged: nothing is expected at profile book" in card(
        3.0, claim=claim_that(expect={"paper": {"at_most": 2}})
    )
    html = card(3.0, claim=claim_that(expect={}, exploratory="one training seed"))
    assert "ntp-exploratory" in html
    assert "ours 3 · not judged: one training seed" in html
    assert "Expected verdict" not in html


def test_a_number_of_a_record_shows_where_that_was_made():
    html = card(1.0, records=[RECORD])
    assert "<dt>Parameters</dt><dd>runs: width = 64, seed = [0, 1]</dd>" in html
    assert "<dt>Made on</dt><dd>record runs, yesterday on &lt;another&gt; chip</dd>" in html
    assert "A &amp; B" not in html


def test_a_number_is_told_apart_from_the_bound_that_it_misses():
    assert "ours 2.0000001 · expected ≤ 2" in card(2.0000001)
    assert "ours 1.23401 · expected ≤ 1.234" in card(
        1.23401, claim=claim_that(expect={"book": {"at_most": 1.234}})
    )
