"""Ways to put a card on a page that no run has made, and to take one off it."""

from html import escape

import pytest

from ntpcompanion.workflow.site.marks import mark_faults, marks_of, marks_of_text

CARD = (
    '<details class="ntp-card mathjax_process" id="claim-a"><summary><span class="ntp-badge '
    'ntp-refuted">refuted</span> half = <strong>50 %</strong></summary></details>'
)
FALSE = CARD.replace("refuted", "supported")
OTHER = FALSE.replace("claim-a", "claim-b")


def page(typed="", card=CARD, after=""):
    """A page of a site as the theme writes it, with something typed before and after its card."""
    cell = f'<div class="cell docutils container"><div class="output text_html">{card}</div></div>'
    return (
        '<!doctype html><html><head><title>A</title><script>"of the theme"</script></head><body>'
        '<main><div class="bd-content"><article class="bd-article"><section id="a-coin">'
        f"<h1>A coin</h1>{typed}{cell}{after}</section></article><footer>next</footer></div></main>"
        "<script src='x.js'></script></body></html>"
    )


def faults(html, expected=CARD, elsewhere=None):
    return mark_faults(html, marks_of(expected), elsewhere)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "<p>ntp-card &lt;details class='ntp-card'></p>",
        "<!-- <details class='ntp-card'> -->",
        '<pre>class="ntp-badge"</pre>',
        '<details class="ntp-fold ntp-aside"><summary>More</summary><p>text</p></details>',
        "<style scoped>.dataframe tbody tr th:only-of-type {vertical-align: middle;}</style>",
        '<script type="application/json">{"a": "<b>"}</script>',
        '<link rel="stylesheet" href="../_static/widgets/widgets.css">'
        '<script defer src="../_static/widgets/plot.js"></script>',
        '<svg viewBox="0 0 1 1" style="display:block"><path d="M0 0"/></svg>',
    ],
)
def test_a_page_with_its_own_card_has_no_fault(typed):
    assert faults(page(typed)) == []
    spaced = CARD.replace("50 %", "50\N{NO-BREAK SPACE}%").replace(" half", "\n half")
    assert faults(page(typed, card=spaced)) == [], "space is not compared"


@pytest.mark.parametrize(
    "typed",
    [
        OTHER,
        '<details id="claim-b" class="ntp-card">supported</details>',
        "<details id='claim-b' class='ntp-card'>supported</details>",
        "<details class=ntp-card>supported</details>",
        '<DETAILS CLASS="x NTP-Card y">supported</DETAILS>',
        '<details class="&#110;tp&#x2d;card">supported</details>',
        '<details data-x=">" class="\tntp-card\n">supported</details>',
        '<div class="ntp-card">supported</div>',
        '<p><span class="ntp-badge ntp-supported">supported</span> half</p>',
        '<span class="ntp-supported">supported</span>',
        '<div class="ntp-strip"><p>5 more claims: 5 supported</p></div>',
        "<table><tr><td><b class='ntp-badge'>supported</b></table>",
        "<!--><b class='ntp-badge'>supported</b><!-- -->",
        "<!-- x --!><b class='ntp-badge'>supported</b>",
        "<svg><foreignObject><p class='ntp-card'>supported</p></foreignObject></svg>",
        "<svg><text class='ntp-badge ntp-supported'>supported</text></svg>",
        "<math><mtext><b class='ntp-badge'>supported</b></mtext></math>",
        "<noscript><b class='ntp-badge'>supported</b></noscript>",
        "<template><b class='ntp-badge'>supported</b></template>",
        f'<iframe srcdoc="{escape(OTHER)}"></iframe>',
        CARD,
    ],
)
def test_a_typed_card_is_a_fault_however_it_is_typed(typed):
    for html in (page(typed), page(after=typed)):
        (fault,) = faults(html)
        assert "that no stored run has measured for it. Cards are made by" in fault or (
            "<iframe> that could change how cards look" in fault
        )


def test_a_card_with_another_text_is_not_the_one_that_was_made():
    lacks, shows = faults(page(card=FALSE))
    assert lacks == "lacks the card #claim-a"
    assert shows.startswith("shows a card #claim-a that no stored run has measured")
    assert faults(page(card="")) == [lacks]


@pytest.mark.parametrize(
    ("typed", "after"),
    [
        ("<div style='display:none'>", "</div>"),
        ("<div style='display:none'>", ""),  # the section's end closes it
        ("<div hidden>", "</div>"),
        ("<section class='d-none'>", "</section>"),
        ("<template>", "</template>"),
        ("<details class='ntp-fold' hidden><summary>More</summary>", "</details>"),
        ("<svg><foreignObject>", "</foreignObject></svg>"),
    ],
)
def test_a_card_that_is_hidden_is_lacking(typed, after):
    assert faults(page(typed, after=after)) == [
        "lacks the card #claim-a, or hides it in what is typed around it"
    ]


@pytest.mark.parametrize(
    ("typed", "after"), [("<!--", "-->"), ("<textarea>", "</textarea>"), ("<xmp>", "</xmp>")]
)
def test_a_card_that_is_text_is_lacking(typed, after):
    assert faults(page(typed, after=after)) == ["lacks the card #claim-a"]


@pytest.mark.parametrize(
    "typed", ["</div></main>", "</article>", "<!--", "<textarea>", "<ntp-end></ntp-end>"]
)
def test_what_leaves_the_article_is_a_fault(typed):
    assert (
        "has HTML that ends the page's own elements, or never ends" in faults(page(after=typed))[0]
    )


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("<script>document.body.append('x')</script>", "has a script, which could draw a card"),
        ("<script src='https://example.org/x.js'></script>", "has a script"),
        ("<script src='../_static/ledger.js'>1</script>", "has a script"),
        ("<script type=module>1</script>", "has a script"),
        ("<svg><script>1</script></svg>", "has a script"),
        ("<p onclick='x()'>a</p>", "has a <p> with a script in an attribute"),
        ("<img src=x OnError=x()>", "has a <img> with a script in an attribute"),
        ("<link rel=stylesheet href=mine.css>", "has a <link> that could change how cards look"),
        ("<meta http-equiv=refresh content='0;url=x'>", "has a <meta> that could change"),
        ("<base href='/x/'>", "has a <base> that could change"),
    ],
)
def test_what_could_draw_a_card_is_a_fault(typed, words):
    assert words in faults(page(typed))[0]


@pytest.mark.parametrize(
    "style",
    [
        "summary {display: none}",
        ".dataframe, summary {display: none}",
        ".dataframe ~ div {display: none}",
        ".dataframe th {color: red} summary {color: red}",
        ".dataframe th { & ~ div {display: none} }",
        "@import 'x.css';",
        "}} .dataframe th {color: green}",
    ],
)
def test_a_stylesheet_is_a_fault_but_that_of_pandas(style):
    assert "has a stylesheet, which could change" in faults(page(f"<style>{style}</style>"))[0]


def test_the_id_of_a_card_is_taken():
    assert faults(page("<p id='claim-a'>half</p>")) == [
        "has another element with the id 'claim-a' of a card"
    ]


def test_a_page_of_prose_may_repeat_what_was_written_for_it_and_nothing_else():
    text = f"# Title\n\n$a<b$ and\n\n````{{raw}} html\n<div>\n{CARD}\n</div>\n````\n* - {OTHER}\n"
    assert marks_of_text(text) == marks_of(CARD + OTHER)
    known = marks_of(CARD)
    assert faults(page(CARD), "", known) == faults(page(card=""), "", known) == []
    assert faults(page(card=""), CARD, known) == ["lacks the card #claim-a"], "its own"
    assert "shows a card #claim-a" in faults(page(FALSE), "", known)[0]
    typed = '<b class="ntp-badge">supported</b>'
    assert "shows a card “supported” that" in faults(page(typed), "", known)[0]
