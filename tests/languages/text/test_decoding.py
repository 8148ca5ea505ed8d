import subprocess

import pytest

from ntpcompanion.languages.text.decoding import decode_text

GERMAN = "Größe und Übermut zählen hier nicht.\r\nEine Zeile, né, mit wenigen Akzenten.\n"
CHINESE = "中文分词 是 一个 问题。\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("text", [GERMAN, CHINESE, "\f page\t\x1b[1m", ""])
def test_utf8_is_read_with_one_kind_of_line_end(text, encoding):
    assert decode_text(text.encode(encoding), "mine.txt") == text.replace("\r\n", "\n")
    assert decode_text(b"a\rb", "mine.txt") == "a\nb"


@pytest.mark.parametrize(
    ("text", "encoding", "name", "option"),
    [
        (GERMAN, "latin-1", r"\(byte 3\): it reads as Latin-1", "latin1"),
        ("it’s – “né”, a text", "cp1252", r"\(byte 3\): it reads as Windows-1252", "cp1252"),
        (GERMAN, "utf-16", "by its byte order mark it is UTF-16", "utf-16"),
        (GERMAN, "utf-32", "by its byte order mark it is UTF-32", "utf-32"),
        (GERMAN, "utf-16le", "by a zero beside each letter it is UTF-16LE", "utf-16le"),
        (GERMAN, "utf-16be", "by a zero beside each letter it is UTF-16BE", "utf-16be"),
        (CHINESE, "utf-16le", "it is UTF-16LE", "utf-16le"),
    ],
)
def test_another_encoding_is_named_with_a_command_that_converts_it(
    tmp_path, text, encoding, name, option
):
    path = tmp_path / "my text.txt"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(ValueError, match=rf"is not UTF-8.*{name}\. Convert it: ") as caught:
        decode_text(path.read_bytes(), str(path))
    command = str(caught.value).partition("Convert it: ")[2]
    assert command == f"iconv -f {option} -t utf-8 {str(path)!r} > utf8.txt"
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert decode_text((tmp_path / "utf8.txt").read_bytes(), "utf8.txt") == text.replace(
        "\r\n", "\n"
    )


def test_an_encoding_that_is_not_recognized_is_left_to_the_user():
    with pytest.raises(
        ValueError, match=r"is not UTF-8 \(byte 1\)\. Find its encoding with `file -i"
    ):
        decode_text("Привет, это длинный текст без латинских букв".encode("koi8-r"), "mine.txt")


def test_a_file_that_was_cut_is_told_from_another_encoding():
    with pytest.raises(ValueError, match=r"it ends within a character\. Copy the whole file"):
        decode_text("ein Text für Größen, und zuletzt ß".encode()[:-1], "mine.txt")


@pytest.mark.parametrize("end", ["é", "é»", "Ã", "ß"])
def test_latin_1_that_ends_in_an_accent_is_not_called_cut(end):
    """Or cut UTF-8 whose only accent is the last character: nobody can tell, so both are named."""
    data = f"a long text without accents, but for its last caf{end}".encode("latin-1")
    with pytest.raises(
        ValueError,
        match=r"it reads as Latin-1\. Convert it: iconv -f latin1 .* If it was cut within its last "
        r"character, copy the whole file\.$",
    ):
        decode_text(data, "mine.txt")


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01" + bytes(60),
        bytes(range(256)) * 4,
        b"\x89PNG\r\n\x1a\n" + bytes(2) + b"\x00\x00\x00\rIHDR\x00\x00",
        b"\x1f\x8b\x08" + bytes(range(1, 32)) * 9 + b"\xff\xfe\x81",
        b"\x01\x02\x03 text " * 20,
    ],
)
def test_what_is_no_text_is_refused(data):
    with pytest.raises(ValueError, match=r"`text` = 'a\.bin' is not text: .* Give a UTF-8 text"):
        decode_text(data, "a.bin")
