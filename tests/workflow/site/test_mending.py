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


def test_glued_numbers_are_written_as_by_hand():
    page = "".join(f'<span class="pasted-text">{text}</span>' for text in ("-0.3", "a-1", "-1e-07"))
    mended = mend(f"{page} -2")
    shown = ("\N{MINUS SIGN}0.3", "a-1", "\N{MINUS SIGN}10⁻⁷")
    assert mended == "".join(f'<span class="pasted-text">{text}</span>' for text in shown) + " -2"
    assert mend(mended) == mended
