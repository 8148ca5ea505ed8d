"""Stored runs that were cut short or flipped: found and run again, never used. A site with a page
missing or damaged: made again.
"""

import random

import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.pages.cards import Ending
from ntpcompanion.workflow.pages.chapter_pages import make_page
from ntpcompanion.workflow.running.runs import current_results, load_executed, stale_reasons
from ntpcompanion.workflow.site.build_site import prepare_pages
from ntpcompanion.workflow.site.marks import marks_of, site_faults
from tests.refusing import refused

FLIPS = 300


DAMAGES = [
    (".json", lambda t: t[: len(t) // 2], "cannot be read as JSON"),
    (".ipynb", lambda t: t.replace("0.5", "0.7"), "does not match"),
]
MORE_DAMAGES = [
    (".json", lambda t: "", "cannot be read as JSON"),
    (
        ".json",
        lambda t: t.replace('"value": 0.5', '"value": 0.7'),
        "does not match its own checksum",
    ),
    (".ipynb", lambda t: t[: len(t) // 2], "missing or damaged"),
    (".ipynb", lambda t: t.replace("half(n)", "half(m)"), "does not match"),
]


@pytest.mark.parametrize(
    ("suffix", "damage", "words"),
    [*DAMAGES, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE_DAMAGES)],
)
def test_damaged_results_are_run_again_never_used(executed, suffix, damage, words):
    path = executed.project.book / "chapters" / f"coin{suffix}"
    path.write_text(damage(path.read_text()))
    assert words in executed.command("why", "coin")
    assert words in executed.command("check", "--profile", "book", code=1)
    assert "coin (book): executed" in executed.command("execute")
    assert "coin (book) is up to date" in executed.command("why", "coin")


@pytest.mark.parametrize("suffix", [".json", ".ipynb"])
def test_a_flipped_bit_is_found_or_makes_no_difference(executed, suffix):
    run = executed.runs(names=["coin"])[0]
    path, claims, draw = (
        run.stem.with_suffix(suffix),
        load_claims(executed.project),
        random.Random(20240228),
    )

    def page():
        result = current_results([run])["coin"]
        return [
            (cell.source, cell.get("outputs"))
            for cell in make_page(
                Ending(run.notebook, result),
                load_executed(run.executed),
                judged_claims(claims, result.measurements, "book"),
                lambda name: None,
            ).cells
        ]

    whole, shown = path.read_bytes(), page()
    found = 0
    for _ in range(FLIPS):
        place, bit = draw.randrange(len(whole)), draw.randrange(8)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
        if stale_reasons(run):
            found += 1
        else:
            assert page() == shown, f"bit {bit} of byte {place}"
    assert found > FLIPS / 2
    path.write_bytes(whole)
    assert stale_reasons(run) == []


@pytest.mark.slow
def test_a_damaged_site_is_made_again(executed):
    executed.command("build")
    html = executed.project.html("book")
    damages = {
        "ledger.html": lambda path: path.unlink(),
        "intro.html": lambda path: path.write_bytes(path.read_bytes()[:2000]),
        "_static/mathjax/tex-chtml-full.js": lambda path: path.write_bytes(b""),
    }
    for name, damage in damages.items():
        whole = (html / name).read_bytes()
        damage(html / name)
        assert "Built" in executed.command("build"), name
        assert (html / name).read_bytes() == whole
    assert "Unchanged" in executed.command("build")


def test_a_page_without_its_number_is_a_fault(executed, tmp_path):
    html = tmp_path / "html"
    (html / "chapters").mkdir(parents=True)
    for page in ("intro", "index", "ledger", "status", "chapters/coin", "chapters/words"):
        (html / f"{page}.html").write_text("<p>0.<b>5</b> 1, 2, 4 and nothing else</p></html>")
    card = '<details class="ntp-card mathjax_process" id="claim-toy_{}"></details>'
    numbered = card.replace("></", ">{}</")
    row = '<p class="ntp-row">toy.words = 3</p>'
    texts = {"_ledger.md": f"````{{raw}} html\n{row}\n````"}
    expected = {}
    for page, claims in {"coin": {"half": 0.5, "powers": 4}, "words": {"words": 3}}.items():
        drawn = "".join(numbered.format(*claim) for claim in claims.items())
        expected[f"chapters/{page}"] = marks_of(drawn)
        with (html / "chapters" / f"{page}.html").open("a") as file:
            file.write(drawn.replace(">3<", ">2<"))

    def faults():
        return site_faults(executed.project, html, expected, texts)

    assert [fault.partition(". ")[0] for fault in faults()] == [
        "chapters/words.html lacks the card #claim-toy_words",
        "chapters/words.html shows a card #claim-toy_words that no stored run has measured for it",
        "ledger.html lacks the card “toy.words=3”",
    ]
    for page, claim in {
        "intro": "half",
        "chapters/words": "words",
        "chapters/coin": "words",
    }.items():
        with (html / f"{page}.html").open("a") as file:
            file.write(card.format(claim))
    assert [fault.partition(". ")[0] for fault in faults() if "shows a card" in fault] == [
        "chapters/coin.html shows a card #claim-toy_words that no stored run has measured for it",
        "chapters/words.html shows a card #claim-toy_words that no stored run has measured for it",
        "chapters/words.html shows a card #claim-toy_words that no stored run has measured for it",
        "intro.html shows a card #claim-toy_half that no stored run has measured for it",
    ]
    (html / "chapters" / "words.html").write_text("</html>")
    assert "chapters/words.html lacks the card #claim-toy_words" in faults()
    (html / "chapters" / "coin.html").unlink()
    (html / "intro.html").write_text("<p>half a pa")
    (html / "index.html").write_text("")
    assert faults()[:3] == [
        "intro.html is missing or cut short",
        "chapters/coin.html is missing or cut short",
        "index.html is missing or empty",
    ]


@pytest.mark.slow
def test_what_a_killed_rendering_left_is_not_published(executed):
    executed.command("build")
    html = executed.project.html("book")
    left = html.with_name("html-work") / "_build" / "html"
    names = ("intro.html", "_static/mathjax/tex-chtml-full.js")
    whole = {name: (html / name).read_bytes() for name in names}
    for name, content in whole.items():
        (left / name).parent.mkdir(parents=True, exist_ok=True)
        (left / name).write_bytes(content[:1000])
    assert "Unchanged" in executed.command("build"), "the site is whole, and nothing reads the rest"
    executed.edit("notebooks/coin.md", "Prose with", "Other prose with")
    assert "Built" in executed.command("build")
    for name, content in whole.items():
        assert (executed.project.html("book") / name).read_bytes() == content


@pytest.mark.slow
def test_smoke_output_never_reaches_the_book(toy):
    toy.command("execute", "--profile", "smoke")
    chapters = toy.project.book / "chapters"
    assert not chapters.exists()
    assert "coin (book): never run" in toy.command("check", "--profile", "book", code=1)
    chapters.mkdir()
    for path in (toy.project.build / "runs" / "smoke").iterdir():
        (chapters / path.name).write_bytes(path.read_bytes())
    holds = (
        r"coin \(book\): coin.json holds coin at profile smoke\nwords \(book\): words.json holds "
        r"words at profile smoke"
    )
    with refused(holds):
        prepare_pages(toy.project, toy.runs("book"), "book")
    assert "coin (book): executed" in toy.command("execute"), "what was smuggled in is replaced"


@pytest.mark.slow
def test_a_smoke_page_says_what_it_is_however_its_title_is_written(toy):
    toy.edit("notebooks/words.md", "# Words", "Words\n=====")
    toy.command("execute", "--profile", "smoke")
    source, *_ = prepare_pages(toy.project, toy.runs("smoke"), "smoke")
    assert source == toy.project.build / "stage-smoke" / "book"
    for name in ("coin", "words"):
        assert "Its numbers are not results" in (source / "chapters" / f"{name}.ipynb").read_text()
    assert not (toy.project.book / "chapters").exists()
