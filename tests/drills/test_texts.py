"""Texts of the project that are not as they should be: a key written twice, an alias bomb, an
.ipynb among the pages, a lock of Emacs.
"""

import nbformat
import pytest

from ntpcompanion.workflow.hashing.imported_files import source_hashes


@pytest.fixture
def still(toy, no_kernel):
    """The toy project with the plan of a record, and without kernels: all is found before a
    notebook runs.
    """
    no_kernel()
    toy.plan_halves(about="Halves.")
    return toy


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("book/claims.yml", "  locator: Theorem 1", "  locator: Theorem 1\n  locator: Theorem 2"),
        ("book/_toc.yml", "root: intro", "root: intro\nroot: ledger"),
        (
            "_config.yml",
            "only_build_toc_files: true",
            "only_build_toc_files: true\nonly_build_toc_files: false",
        ),
        ("book/records/plans.yml", "about: Halves.", "about: Halves.\n  about: Thirds."),
        ("notebooks/profiles.yml", "{n: 10}", "{n: 10, n: 20}"),
        ("notebooks/words.md", "ntp: {inputs: [text]}", "ntp: {inputs: [text]}\nntp: {}"),
    ],
)
def test_a_key_that_is_written_twice_is_refused(still, path, old, new):
    still.edit(path, old, new)
    output = still.command(*(["record", "halves"] if "plans" in path else ["build"]), code=1)
    assert path in output
    assert "is written twice, first" in output


def test_an_alias_bomb_is_refused(still):
    levels = ", ".join(
        [
            "&a [1, 1, 1, 1, 1, 1, 1, 1, 1]",
            *(f"&{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in ("ab", "bc", "cd")),
        ]
    )
    (still.project.notebooks / "profiles.yml").write_text(f"coin: {{smoke: {{n: [{levels}]}}}}\n")
    assert "profiles.yml cannot be read: the alias *a: write the value out" in still.command(
        "list", code=1
    )


@pytest.mark.parametrize("entry", ["file: extra", "file: extra.ipynb", "glob: extr*"])
def test_a_notebook_of_somebodys_own_is_no_page(still, entry):
    cell = nbformat.v4.new_code_cell(
        "1 + 1", outputs=[nbformat.v4.new_output("stream", text="3 was measured")]
    )
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Extra"), cell]),
        still.project.book / "extra.ipynb",
    )
    still.edit("book/_toc.yml", "- file: ledger", f"- {entry}\n- file: ledger")
    output = still.command("build", code=1)
    assert (
        "lists pages that nobody chose"
        if "glob" in entry
        else "A page is a MyST text (.md), or a chapter"
    ) in output
    assert not still.project.html("book").exists()


def test_a_notebook_without_a_title_is_refused(still):
    still.edit("notebooks/coin.md", "# A coin", "## A coin")
    assert (
        "coin.md has no title. Write a heading of level one in a text cell: `# The title`."
        in still.command("list", code=1)
    )


def test_what_editors_leave_beside_a_notebook_is_no_notebook(still):
    (still.project.notebooks / ".#coin.md").symlink_to("somebody@somewhere.1234:5678")
    (still.project.notebooks / ".coin.md").write_text("half a copy")
    (still.project.notebooks / ".coin.md.swp").write_bytes(b"\xff\0")
    assert still.command("list").count("never run") == 2


NO_PYTHON = {
    "syntax": (b"def half(n:\n", "'(' was never closed (half.py, line 1). Fix the file."),
    "latin-1": (b"X = '\xe9'\n", "(unicode error) 'utf-8' codec can't decode"),
    "null": (b"X = 1\0", "source code string cannot contain null bytes"),
    "deep": (b"X = " + b"-" * 100_000 + b"1", ""),
}


@pytest.mark.parametrize(("content", "words"), NO_PYTHON.values(), ids=NO_PYTHON)
def test_a_file_of_the_package_that_is_not_python_is_named(still, content, words):
    (still.project.package / "half.py").write_bytes(content)
    for command in (["execute", "coin"], ["record", "halves"]):
        assert (
            f"half.py is not Python, so nothing that imports it can run: {words}"
            in still.command(*command, code=1)
        )


def test_a_file_of_the_package_with_a_mark_of_its_byte_order_is_python(still):
    before = source_hashes("import toypkg.half", still.project.package)
    for content in (
        b"\xef\xbb\xbf" + (still.project.package / "half.py").read_bytes(),
        "# coding: latin-1\n# é".encode("latin-1"),
    ):
        (still.project.package / "half.py").write_bytes(content)
        assert (
            source_hashes("import toypkg.half", still.project.package)["half.py"]
            != before["half.py"]
        )
