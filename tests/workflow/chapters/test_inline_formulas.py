from ntpcompanion.workflow.chapters.inline_formulas import with_their_punctuation

FORMULA = '<span class="math notranslate nohighlight">\\(1 / (4B)\\)</span>'


def test_a_formula_keeps_the_signs_behind_it():
    made = with_their_punctuation(f"<p>It is {FORMULA}. Also {FORMULA} is ({FORMULA}), too.</p>")
    held = f'<span class="ntp-nobreak">{FORMULA}'
    assert made == f"<p>It is {held}.</span> Also {FORMULA} is ({held}),</span> too.</p>"


def test_a_formula_that_is_a_symbol_too():
    marked = FORMULA.replace('">', '" data-symbol="B">')
    assert with_their_punctuation(f"{marked},") == f'<span class="ntp-nobreak">{marked},</span>'


def test_formulas_on_lines_of_their_own_are_left_alone():
    shown = '<div class="math notranslate nohighlight">\\[a\\]</div>.'
    assert with_their_punctuation(shown) == shown
