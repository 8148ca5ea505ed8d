from ntpcompanion.workflow.site.mending import mend

PAGE = (
    '<nav><details><summary><span class="toctree-toggle" role="presentation"></span></summary>'
    '</details></nav><section class="proof-content" id="proof-content"><p>x</p></section>'
    '<section class="remark-content" id="proof-content"></section><section id="own"></section>'
    '<div role="list" class="citation-list"></div><div role="list"></div>'
    '<dd><p><ul class="simple">\n<li><p>a</p></li>\n</ul>\n</p>\n</dd>'
    "<details><summary>Proof</summary></details>"
)


def test_statements_share_no_name_and_a_switch_has_words():
    mended = mend(PAGE)
    assert mended.count("-content") == 2
    assert 'id="proof-content"' not in mended
    assert 'id="own"' in mended
    assert mended.count('<summary aria-label="Show or hide the pages below">') == 1
    assert "<summary>Proof</summary>" in mended
    assert mend(mended) == mended
    assert '<dd><ul class="simple">\n<li><p>a</p></li>\n</ul>\n</dd>' in mended
    assert '<div class="citation-list"></div><div role="list"></div>' in mended


def test_glued_numbers_are_written_as_in_a_text():
    def mended(number):
        page = mend(f'<span class="pasted-text">{number}</span>')
        assert mend(page) == page
        return page.removeprefix('<span class="pasted-text">').removesuffix("</span>")

    assert mended("7e-05") == "7 × 10⁻⁵"
    assert mended("-1.6e+12") == "−1.6 × 10¹²"
    assert mended("-0.3") == "−0.3"
    assert mended("0.25") == "0.25"
    assert mended("a-1") == "a-1", "a text"
    assert mend("<code>7e-05</code> -2") == "<code>7e-05</code> -2", "nothing else is touched"


def test_a_glued_sentence_is_not_bold():
    sentence = "Tokens are words (UAX 29)."
    assert mend(f'<span class="pasted-text">{sentence}</span>') == f"<span>{sentence}</span>"
    for short in ("the longest", "1.", "0.25"):
        assert 'class="pasted-text"' in mend(f'<span class="pasted-text">{short}</span>')


def test_numbers_of_a_table_have_a_minus_sign():
    row = "<tr><td>-3.49 ± 0.70</td><td>a-1</td><td>-p x</td></tr>"
    mended = mend(f'<table class="ntp-table">{row}</table><table>{row}</table>')
    signed = row.replace("-3", "\N{MINUS SIGN}3")
    assert mended == f'<table class="ntp-table">{signed}</table><table>{row}</table>'


def test_a_per_cent_sign_stays_beside_its_number():
    text = '95 % of <span class="pasted-text">63</span> %, a % b, 100 %\n'
    there = "\N{NO-BREAK SPACE}%"
    assert (
        mend(text)
        == f'95{there} of <span class="pasted-text">63</span>{there}, a % b, 100{there}\n'
    )
    assert mend(mend(text)) == mend(text)
    for copied in ("<pre>5 % 3</pre>", '<script type="x">5 % 3</script>', "5 %d"):
        assert mend(copied) == copied
