import nbformat
import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.contents import page_faults
from ntpcompanion.workflow.notebooks.notebook import (
    choose,
    find_notebooks,
    read_notebook,
    require_title,
)
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from tests.refusing import refused


def test_found_in_the_order_of_the_toc(toy):
    (toy.project.notebooks / "about.md").write_text((toy.project.notebooks / "coin.md").read_text())
    found = find_notebooks(toy.project)
    assert list(found) == ["coin", "words", "about"]
    assert found["coin"].title == "A coin"
    assert [cell["id"] for cell in found["coin"].node.cells][:2] == ["cell-000", "cell-001"]


KERNEL = "kernelspec: {display_name: Python 3, language: python, name: python3}"


@pytest.mark.parametrize("line", ["", KERNEL.replace("language: python, ", "")])
def test_a_notebook_that_names_no_language_is_one_of_python(toy, line):
    whole = read_notebook(toy.project.notebooks / "coin.md").node.metadata["kernelspec"]
    toy.edit("notebooks/coin.md", KERNEL, line)
    assert read_notebook(toy.project.notebooks / "coin.md").node.metadata["kernelspec"] == whole


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (":tags: [parameters]\n", "", r"first code cell must be tagged `parameters`"),
        (
            "inputs: [text]",
            "inputs: [texts]",
            r"lists the input 'texts', which is not a parameter. Did you mean 'text'",
        ),
        ("inputs: [text]", "input: [text]", r"unknown front matter entry \['input'\]"),
        (
            "ntp:",
            "mystnb: {execution_mode: force}\nntp:",
            r"unknown front matter entry mystnb; known: jupytext, kernelspec",
        ),
        (
            "{inputs: [text]}",
            "[inputs]",
            r"words.md, `ntp` in the front matter: Input should be a valid dictionary, got "
            r"\['inputs'\]",
        ),
        (
            "inputs: [text]",
            "records: [1]",
            r"in the front matter: records.0: Input should be a valid string, got 1",
        ),
        ("# Words", "Words", r"words.md has no title. Write a heading of level one"),
        ("len(Path", "len((Path", r"a code cell is not Python"),
        (
            "ntp: {inputs: [text]}",
            "ntp: {inputs: [text",
            r"words.md, front matter cannot be read: while parsing a flow",
        ),
    ],
)
def test_faults_of_a_text_notebook(toy, old, new, words):
    toy.edit("notebooks/words.md", old, new)
    with refused(words):
        _ = read_notebook(toy.project.notebooks / "words.md").settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("coyn: {smoke: {n: 1}}", r"no notebook 'coyn'. Did you mean 'coin'"),
        ("coin: {smoke: {n: 1e3}}", r"parameter `n` must be of type int, like 1000, got '1e3'"),
        ("coin: {", r"profiles.yml cannot be read"),
        (
            "coin: {smoke: 3}",
            r"profiles.yml: coin.smoke: Input should be a valid dictionary, got 3",
        ),
        ("1: {smoke: {}}", r"profiles.yml: 1.\[key\]: Input should be a valid string, got 1"),
    ],
)
def test_faults_of_the_profiles(toy, text, words):
    (toy.project.notebooks / "profiles.yml").write_text(text)
    with refused(words):
        read_profiles(toy.project, find_notebooks(toy.project))


@pytest.mark.parametrize(("old", "line"), [("Prose with", 8), ("import measure", 17)])
def test_what_may_end_a_line_is_named_wherever_it_stands(toy, old, line):
    toy.edit("notebooks/coin.md", old, f"{old}\u2028# more")
    with refused(rf"coin.md, line {line}: U\+2028 "):
        read_notebook(toy.project.notebooks / "coin.md")


def test_a_mark_and_line_ends_of_windows_make_no_difference(toy):
    before = find_notebooks(toy.project)["coin"]
    for path in toy.project.root.rglob("*.*ml"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    path = before.path
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    notebooks = find_notebooks(toy.project)
    assert list(notebooks) == ["coin", "words"]
    assert notebooks["coin"] == before
    assert read_profiles(toy.project, notebooks)
    assert load_claims(toy.project)


NFC, NFD = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(("disk", "other"), [(NFC, NFD), (NFD, NFC)], ids=["NFC", "NFD"])
def test_a_name_is_matched_whichever_way_its_accents_are_encoded(toy, disk, other):
    (toy.project.notebooks / "coin.md").rename(toy.project.notebooks / f"{disk}.md")
    (toy.project.notebooks / "profiles.yml").write_text(
        f"{other}: {{smoke: {{n: 10}}}}", encoding="utf-8"
    )
    known = find_notebooks(toy.project)
    assert [notebook.name for notebook in choose(known, [other])] == [disk]
    assert read_profiles(toy.project, known) == {disk: {"smoke": {"n": 10}}}
    toy.edit("book/claims.yml", "notebook: coin", f"notebook: {other}")
    assert load_claims(toy.project)["toy.half"].notebook == disk
    toy.edit("book/_toc.yml", "chapters/coin", f"chapters/{other}")
    fault = page_faults(toy.project, list(known))[0]  # Sphinx reads the table of contents itself
    assert f"no notebooks/{other}.md. {disk!r} looks the same, but" in fault
    (toy.project.notebooks / "profiles.yml").write_text(f"{NFC}: {{}}\n{NFD}: {{}}")
    with refused("names one notebook twice"):
        read_profiles(toy.project, known)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Prose with", "Other prose with", True),
        ("n = 1000  # throws", "n = 2000  # number of throws", True),
        ("from ntpcompanion.workflow", ":tags: [hide-input]\nfrom ntpcompanion.workflow", True),
        (
            "from ntpcompanion.workflow",
            ":tags: [raises-exception]\nfrom ntpcompanion.workflow",
            False,
        ),
        ("half(8)", "half(16)", False),
    ],
)
def test_the_digest_of_the_code_changes_with_what_the_cells_do(toy, old, new, same):
    before = find_notebooks(toy.project)["coin"].code_digest()
    toy.edit("notebooks/coin.md", old, new)
    assert (find_notebooks(toy.project)["coin"].code_digest() == before) is same


def title(*texts):
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    cells.insert(0, nbformat.v4.new_code_cell("# a comment"))
    found = require_title(nbformat.v4.new_notebook(cells=cells), "here")
    return found.text, found.cell.source, found.lines


@pytest.mark.parametrize(
    ("texts", "text", "lines"),
    [
        (["# A coin\nProse"], "A coin", 1),
        (["(coin)=\n# A *coin* #\n"], "A *coin*", 2),
        (["(coin)=\nA coin\n======\n\nProse"], "A coin", 3),
        (["Two\nlines\n=\nProse"], "Two lines", 3),
        (["Prose\n\n## Smaller", "# The title"], "The title", 1),
        (
            [
                "```\n# code\n```\n\n:::{note}\n# inside\n:::\n> # said\n\n$$\na\n=\nb\n$$\n\n% # "
                "hidden\n# The title"
            ],
            "The title",
            17,
        ),
    ],
)
def test_the_first_heading_of_level_one_in_either_form(texts, text, lines):
    assert title(*texts) == (text, texts[-1], lines)


@pytest.mark.parametrize(
    "text",
    ["Prose", "## Smaller", "#no space", "- # in a list", "\\begin{align}\na\n=\nb\n\\end{align}"],
)
def test_where_there_is_none(text):
    with refused("here has no title"):
        title(text)
