"""Claims, notebooks and pages that do not fit together: red before or instead of a page, each fault
named.
"""

import pytest

from tests.toy import write_claims


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": None}, "toy.half: source: Field required"),
        (
            {"expect": {"book": {"at_least": float("-inf")}}},
            "a predicate that cannot fail decides nothing",
        ),
        ({"id": "toy.words"}, "toy.words: the id is used twice"),
    ],
)
def test_a_faulty_claim_stops_the_build_before_any_kernel(toy, no_kernel, changes, words):
    no_kernel()
    write_claims(toy.project, **changes)
    output = toy.command("build", code=1)
    assert "claims.yml:" in output
    assert words in output


def test_what_is_measured_and_what_is_claimed_must_agree(executed):
    toy = executed
    toy.edit("book/claims.yml", "id: toy.powers", "id: toy.power")
    output = toy.command("build", code=1)
    assert (
        "coin measures 'toy.powers', which is not a claim of this notebook. Did you mean "
        "'toy.power'? Add it to the claims in `book`." in output
    )
    assert (
        "coin does not measure the claim 'toy.power', though a value is expected at profile book."
        in output
    )
    assert not toy.project.html("book").exists()
    assert "error: " in toy.command("check", "--profile", "book", code=1)


@pytest.mark.slow
def test_a_missing_glue_key_stops_the_build(executed):
    toy = executed
    toy.edit(
        "notebooks/coin.md",
        "from toypkg.half",
        'from myst_nb import glue\nglue("halved", half(n), display=False)\nfrom toypkg.half',
    )
    toy.edit(
        "notebooks/coin.md",
        'import glue\nglue("halved", half(n), display=False)\nfrom toypkg.half import half',
        "import glue",
    )
    toy.edit(
        "notebooks/coin.md",
        'measure("toy.half"',
        'from toypkg.half import half\nglue("halved", half(n), display=False)\nmeasure("toy.half"',
    )
    toy.edit("book/intro.md", "# Intro", "# Intro\n\n{glue:text}`chapters/coin.ipynb::halved:.1f`")
    toy.command("build")
    assert "500.0" in (toy.project.html("book") / "intro.html").read_text()
    toy.edit("book/intro.md", "::halved:", "::halfed:")
    output = toy.command("build", code=1)
    assert "Jupyter Book stopped with code 1" in output
    assert "halfed" in output
    assert "500.0" in (toy.project.html("book") / "intro.html").read_text(), "the old site stays"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# Intro", "# Intro\n\n{prf:ref}`nowhere`", "nowhere"),
        pytest.param("liu2023same", "liu2032same", "liu2032same", marks=pytest.mark.slow),
        pytest.param("# Intro", "# Intro\n\n![x](no.png)", "no.png", marks=pytest.mark.slow),
    ],
    ids=["reference", "citation", "picture"],
)
def test_a_page_that_points_nowhere_stops_the_build(executed, old, new, words):
    executed.edit("book/intro.md", old, new)
    output = executed.command("build", code=1)
    assert "Jupyter Book stopped with code 1" in output
    assert words in output


def test_the_table_of_contents_and_the_notebooks_must_agree(toy):
    toy.edit("book/_toc.yml", "chapters/words", "chapters/wörter")
    output = toy.command("build", code=1)
    assert "lists chapters/wörter, but there is no notebooks/wörter.md" in output
    assert "notebooks/words.md is not in book/_toc.yml" in output


def test_a_baseline_that_moved_is_red_and_only_that(executed):
    toy = executed
    assert "no baseline yet (ours 0.5)" in toy.command("check", "--profile", "book", code=1)
    toy.project.baseline("book").parent.mkdir(parents=True, exist_ok=True)
    toy.project.baseline("book").write_text('{"former text": {"toy.gone": {"value": 1.0}}}')
    assert "Wrote" in toy.command("check", "--profile", "book", "--update")
    assert "3 measured values agree with book.json" in toy.command("check", "--profile", "book")
    assert "toy.gone" not in toy.project.baseline("book").read_text()
    toy.edit("toypkg/half.py", "n / TWO", "n / TWO + 0.004 * n")
    toy.edit("notebooks/coin.md", "half(2), half(4), half(8)", "1, 2, 4")
    toy.command("execute")
    assert "agree with book.json" in toy.command("check", "--profile", "book"), "inside of its band"
    toy.edit("toypkg/half.py", "0.004", "0.011")
    toy.command("execute")
    output = toy.command("check", "--profile", "book", code=1)
    assert "toy.half: baseline 0.5, now 0.511, moved 0.011, band ± 0.005" in output
    assert "1 of the checks on 3 measured values failed at profile book" in output
    (toy.project.baseline("book")).write_text("{")
    assert "book.json cannot be read: " in toy.command("check", "--profile", "book", code=1)
