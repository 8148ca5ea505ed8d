import hashlib
import platform
from pydoc_data.topics import topics

import pytest

from ntpcompanion.languages.text.corpus import read_text


def test_the_default_text_is_all_topics_in_the_order_of_their_keys():
    text = read_text("pydoc_data.topics")
    assert text.content == "\n\n".join(topics[key] for key in sorted(topics))
    assert text.version == f"Python {platform.python_version()}"
    assert text.sha256 == hashlib.sha256(text.content.encode()).hexdigest()


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_is_read_as_utf8_with_or_without_a_byte_order_mark(tmp_path, mark):
    path = tmp_path / "mine.txt"
    path.write_text(mark + "Größe zählt", encoding="utf-8")
    text = read_text(str(path))
    assert (text.content, text.version, text.source) == ("Größe zählt", "", str(path))


def test_a_file_wins_over_a_module_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pydoc_data.topics").write_text("not the manual")
    assert read_text("pydoc_data.topics").content == "not the manual"


@pytest.mark.parametrize(
    "name", ["missing.txt", "no/such/file", "math", "no_such_module.topics", "", "..pydoc_data"]
)
def test_what_is_neither_file_nor_text_module_is_refused(name):
    with pytest.raises(
        FileNotFoundError,
        match=(
            rf"`text` = '{name}' is neither a file nor a Python module with a dictionary `topics`"
        ),
    ):
        read_text(name)


def test_a_module_whose_topics_are_no_texts_is_refused(tmp_path, monkeypatch):
    (tmp_path / "numbers_as_topics.py").write_text("topics = {'a': 1}")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileNotFoundError, match="`text` = 'numbers_as_topics' is neither"):
        read_text("numbers_as_topics")


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Größe".encode("latin-1"))
    with pytest.raises(ValueError, match=r"`text` = '.*latin.txt' is not UTF-8 \(byte 3\)"):
        read_text(str(path))


def test_a_folder_is_no_text(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"`text` = '.*' is a folder\. Give the path of a file"
    ):
        read_text(str(tmp_path))


@pytest.mark.parametrize("content", ["", " \n\t"])
def test_an_empty_text_is_refused(tmp_path, content):
    path = tmp_path / "empty.txt"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"`text` = '.*empty.txt' is empty"):
        read_text(str(path))
