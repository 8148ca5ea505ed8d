import pytest

from ntpcompanion.settings import (
    CELL_SECONDS,
    COLOURS,
    USUAL,
    Settings,
    package_folder,
    read_settings,
)


@pytest.fixture
def settings(tmp_path):
    """A function: the settings of a book whose pyproject.toml holds that text."""

    def read(text):
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        return read_settings(tmp_path)

    return read


def test_what_a_book_says(settings):
    found = settings(
        """
        [tool.ntpcompanion]
        name = "coins"
        version = "2"
        package = ["one", "two"]
        experiments = "one.runs"
        libraries = ["msprime"]
        extras = "book"
        constraints = "pins.txt"
        cell_seconds = {book = 3, smoke = 0}
        colours = {"#0173b2" = "heads"}
        """
    )
    assert found == Settings(
        name="coins",
        version="2",
        package=("one", "two"),
        experiments="one.runs",
        libraries=("msprime",),
        extras=("book",),
        constraints="pins.txt",
        cell_seconds={**CELL_SECONDS, "book": 3.0, "smoke": 0.0},
        colours={**COLOURS, "#0173b2": "heads"},
    )
    assert [found.cell_limit(profile) for profile in ("smoke", "book", "paper")] == [
        None,
        3.0,
        None,
    ]


def test_a_file_with_a_byte_order_mark_is_read(settings, tmp_path):
    before = settings(text := '[project]\nname = "mine"\n')
    (tmp_path / "pyproject.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_settings(tmp_path) == before


def test_what_the_project_says_is_taken_over(settings, tmp_path):
    text = "[project]\nname = 'My-Coins'\nversion = '1.2'\ndependencies = ['Msprime>=1', '???']\n"
    found = settings(text)
    assert (found.name, found.version, found.package) == ("My-Coins", "1.2", ())
    assert found.libraries == ("msprime", *USUAL)
    assert found.constraints is None
    (tmp_path / "src" / "my_coins").mkdir(parents=True)
    (tmp_path / "constraints.txt").touch()
    found = settings(text)
    assert (found.package, found.constraints) == (("my_coins",), "constraints.txt")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("packages = 'coins'", r"no setting `packages`\. Did you mean 'package'\? Known: name, "),
        ("x = 1", r"no setting `x`\. Known: name, "),
        ("package = 3", r"`package`: .*, got 3\."),
        ("cell_seconds = {smok = 3}", r"`cell_seconds.smok.*'book' or 'paper'.*, got 'smok'"),
        ("cell_seconds = {smoke = -1}", r"`cell_seconds.smoke`: .*greater than or equal to 0"),
        ("cell_seconds = 3", r"`cell_seconds`: .*, got 3\."),
        ("colours = {blue = 'x'}", r"`colours.blue.*, got 'blue'"),
        ("libraries = [1]", r"`libraries.0`: .*, got 1\."),
    ],
)
def test_a_wrong_setting_is_a_sentence(settings, text, sentence):
    with pytest.raises(ValueError, match=rf"pyproject\.toml, \[tool\.ntpcompanion\]: {sentence}"):
        settings(f"[tool.ntpcompanion]\n{text}\n")


def test_a_package_is_a_folder_of_the_book_or_of_its_src(tmp_path):
    for folder in ("one", "src/two"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").touch()
    assert package_folder("one", tmp_path) == tmp_path / "one"
    assert package_folder("two", tmp_path) == tmp_path / "src" / "two"
    for name in ("three", "..", "", "src/two"):
        with pytest.raises(ValueError, match=r"there is no folder .* There are: one, two\."):
            package_folder(name, tmp_path)
