import pytest

from ntpcompanion.workflow.pages.numbering import with_papers_numbers, with_their_punctuation

START = '<p class="admonition-title"><span class="caption-number">Theorem 22 </span>'


def seen(html):
    """What a reader sees of a title: number, title, note."""
    parts = html.removeprefix(START).removesuffix("</p>").split("<span class=")
    return [part.partition(">")[2].removesuffix("</span>") for part in parts if part.strip()]


@pytest.mark.parametrize(
    ("title", "words"),
    [
        (" (The drift (Theorem 4.3 of the paper))", ["The drift", "Theorem 4.3"]),
        (" (SVM (definition 3 of the paper))", ["SVM", "Definition 3"]),
        (
            " (The drift (Theorem 4.3 and equation (1) of the paper))",
            ["The drift", "Theorem 4.3 and equation (1)"],
        ),
        (" (Three families (not in the paper))", ["Three families", "Not in the paper"]),
        (" (Lemma 2 (of a book))", ["Lemma 2 (of a book)"]),
        (" (The drift)", ["The drift"]),
        (" (Assumption 4.1 of the paper)", ["", "Assumption 4.1"]),
        (" (Beyond Theorem 2 of the paper)", ["Beyond Theorem 2 of the paper"]),
    ],
)
def test_the_papers_number_becomes_a_note(title, words):
    made = with_papers_numbers(f"{START}{title}</p>")
    assert made.startswith(START)
    assert [part for part in seen(made) if part != " of the paper</span>"][:2] == words


def test_doing_so_again_changes_nothing():
    once = with_papers_numbers(f"{START} (The drift (Theorem 2 of the paper))</p>")
    assert with_papers_numbers(once) == once


FORMULA = '<div class="math notranslate nohighlight">\n'


@pytest.mark.parametrize("number", ["(4)", "(6a), (6b)"])
def test_a_formula_has_the_papers_number_beside_it(number):
    comment = f"\n% {number} of the paper"
    split = f"{FORMULA}\\[\\begin{{split}}a \\\\ b{comment}\\end{{split}}\\]</div>"
    for page in (
        f"{FORMULA}\\[a = b,{comment}\n\\]</div>",
        f"{FORMULA}\\[a{comment}\\]</div>",
        split,
    ):
        made = with_papers_numbers(f"{FORMULA}\\[c\\]</div>{page}")
        assert made.startswith(f"{FORMULA}\\[c\\]</div>{FORMULA}<span")
        assert f'<span class="ntp-papers-equation">paper {number}</span>\\[' in made
        assert "%" not in made
        assert made.endswith("\\]</div>")
        assert with_papers_numbers(made) == made


def test_the_lines_of_a_formula_may_have_a_number_each():
    page = f"{FORMULA}\\[a \\\\ % (4) of the paper\nb % (5) of the paper\n\\]</div>"
    made = with_papers_numbers(page)
    note = '<span class="ntp-papers-equation">paper (4), (5)</span>'
    assert made == f"{FORMULA}{note}\\[a \\\\\nb\n\\]</div>"
    assert with_papers_numbers(made) == made


def test_other_comments_of_a_formula_stay():
    page = f"{FORMULA}\\[a % 3 of the paper\n\\]</div><p>% (4) of the paper\n</p>"
    assert with_papers_numbers(page) == page


INLINE = '<span class="math notranslate nohighlight">\\(1 / (4B)\\)</span>'


def test_a_formula_keeps_the_signs_behind_it():
    made = with_their_punctuation(f"<p>It is {INLINE}. Also {INLINE} is ({INLINE}), too.</p>")
    held = f'<span class="ntp-nobreak">{INLINE}'
    assert made == f"<p>It is {held}.</span> Also {INLINE} is ({held}),</span> too.</p>"
