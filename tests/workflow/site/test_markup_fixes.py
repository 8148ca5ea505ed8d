import pytest

from ntpcompanion.workflow.site.render import fix

GLUED = '<span class="pasted-text">{}</span>'
ROW = "<tr><td>{}3.49 ± 0.70</td><td>a-1</td><td>-p x</td></tr>"
TABLE = f'<table class="ntp-table">{ROW}</table><table>{ROW.format("-")}</table>'
SWITCH = '<span class="toctree-toggle" role="presentation"></span></summary>'
SENTENCE = "Tokens are words (UAX 29)."
FIXED = [
    (f"<summary>{SWITCH}", f'<summary aria-label="Show or hide the pages below">{SWITCH}'),
    ('<section class="remark-content" id="proof-content">', '<section class="remark-content">'),
    ('<div role="list" class="citation-list"></div>', '<div class="citation-list"></div>'),
    (
        '<dd><p><ul class="simple">\n<li><p>a</p></li>\n</ul>\n</p>\n</dd>',
        '<dd><ul class="simple">\n<li><p>a</p></li>\n</ul>\n</dd>',
    ),
    (GLUED.format("7e-05"), GLUED.format("7 × 10⁻⁵")),
    (GLUED.format("-1.6e+12"), GLUED.format("−1.6 × 10¹²")),
    (GLUED.format("-0.3"), GLUED.format("−0.3")),
    (GLUED.format(SENTENCE), f"<span>{SENTENCE}</span>"),
    (TABLE.format("-"), TABLE.format("\N{MINUS SIGN}")),
    (f"95 % of {GLUED.format(63)} %, a % b", f"95\xa0% of {GLUED.format(63)}\xa0%, a % b"),
]
LEFT = ["<summary>Proof</summary>", '<section id="own">', '<div role="list"></div>', "a-1", "5 %d"]
LEFT += ["<code>7e-05</code> -2", "<pre>5 % 3</pre>", '<script type="x">5 % 3</script>']
LEFT += map(GLUED.format, ("0.25", "a-1", "the longest", "1."))


@pytest.mark.parametrize(("page", "fixed"), [*FIXED, *((page, page) for page in LEFT)])
def test_faults_of_themes_are_fixed_and_nothing_else_is_touched(page, fixed):
    assert fix(page) == fixed
    assert fix(fixed) == fixed
