from ntpcompanion.workflow.site.markup_fixes import fix

PAGE = (
    '<nav><details><summary><span class="toctree-toggle" role="presentation"></span></summary>'
    '</details></nav><section class="proof-content" id="proof-content"><p>x</p></section>'
    '<section class="remark-content" id="proof-content"></section><section id="own"></section>'
    '<div role="list" class="citation-list"></div><div role="list"></div>'
    '<dd><p><ul class="simple">\n<li><p>a</p></li>\n</ul>\n</p>\n</dd>'
    "<details><summary>Proof</summary></details>"
)


def test_statements_share_no_name_and_a_switch_has_words():
    fixed = fix(PAGE)
    assert fixed.count("-content") == 2
    assert 'id="proof-content"' not in fixed
    assert 'id="own"' in fixed
    assert fixed.count('<summary aria-label="Show or hide the pages below">') == 1
    assert "<summary>Proof</summary>" in fixed
    assert fix(fixed) == fixed
    assert '<dd><ul class="simple">\n<li><p>a</p></li>\n</ul>\n</dd>' in fixed
    assert '<div class="citation-list"></div><div role="list"></div>' in fixed


def test_glued_numbers_are_written_as_in_a_text():
    def fixed(number):
        page = fix(f'<span class="pasted-text">{number}</span>')
        assert fix(page) == page
        return page.removeprefix('<span class="pasted-text">').removesuffix("</span>")

    assert fixed("7e-05") == "7 × 10⁻⁵"
    assert fixed("-1.6e+12") == "−1.6 × 10¹²"
    assert fixed("-0.3") == "−0.3"
    assert fixed("0.25") == "0.25"
    assert fixed("a-1") == "a-1", "a text"
    assert fix("<code>7e-05</code> -2") == "<code>7e-05</code> -2", "nothing else is touched"


def test_a_glued_sentence_is_not_bold():
    sentence = "Tokens are words (UAX 29)."
    assert fix(f'<span class="pasted-text">{sentence}</span>') == f"<span>{sentence}</span>"
    for short in ("the longest", "1.", "0.25"):
        assert 'class="pasted-text"' in fix(f'<span class="pasted-text">{short}</span>')


def test_numbers_of_a_table_have_a_minus_sign():
    row = "<tr><td>-3.49 ± 0.70</td><td>a-1</td><td>-p x</td></tr>"
    fixed = fix(f'<table class="ntp-table">{row}</table><table>{row}</table>')
    signed = row.replace("-3", "\N{MINUS SIGN}3")
    assert fixed == f'<table class="ntp-table">{signed}</table><table>{row}</table>'


def test_a_per_cent_sign_stays_beside_its_number():
    text = '95 % of <span class="pasted-text">63</span> %, a % b, 100 %\n'
    there = "\N{NO-BREAK SPACE}%"
    assert (
        fix(text) == f'95{there} of <span class="pasted-text">63</span>{there}, a % b, 100{there}\n'
    )
    assert fix(fix(text)) == fix(text)
    for copied in ("<pre>5 % 3</pre>", '<script type="x">5 % 3</script>', "5 %d"):
        assert fix(copied) == copied
