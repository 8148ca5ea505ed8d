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


def test_a_computed_number_has_its_power_of_ten_as_in_a_text():
    def mended(number):
        return mend(f'<span class="pasted-text">{number}</span>')

    assert mended("7e-05") == '<span class="pasted-text">7 × 10<sup>−5</sup></span>'
    assert mended("1.6e+12") == '<span class="pasted-text">1.6 × 10<sup>12</sup></span>'
    assert mended("0.25") == '<span class="pasted-text">0.25</span>'
    assert mend("<code>7e-05</code>") == "<code>7e-05</code>", "code stays as it is"
