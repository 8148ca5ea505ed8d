"""The bytes of a text file as text, or a sentence that says what else they look like."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE

import regex

# the longer ones first: the mark of UTF-32 begins with that of UTF-16
_MARKS = {
    BOM_UTF32_LE: "utf-32",
    BOM_UTF32_BE: "utf-32",
    BOM_UTF16_LE: "utf-16",
    BOM_UTF16_BE: "utf-16",
}
# Every eighth letter of French or Czech has an accent; of Greek, Russian or Chinese, nearly every
# byte is outside of ASCII.
_MAX_ACCENTS = 0.3
# Text has line ends and tabs, at times a page break; of a program every tenth byte is a control.
_MAX_CONTROLS = 0.01
_ODD = regex.compile(r"[[\p{Cc}\p{Co}\p{Cn}]--[\t\n\v\f\r\x1b\x85]]", regex.V1)


def decode_text(data: bytes, name: str) -> str:
    """The content of a UTF-8 file, with or without byte order mark; all ends of lines become line
    feeds.

    Raises `ValueError`, with the path `name` in its sentence, for bytes that are not UTF-8, with
    the command that converts them where they look like UTF-16, UTF-32, Latin-1 or Windows-1252; and
    for bytes of no text at all.
    """
    if encoding := next((codec for mark, codec in _MARKS.items() if data.startswith(mark)), ""):
        raise _in_other(encoding, name, "its byte order mark")
    data = data.removeprefix(BOM_UTF8)
    if b"\0" in data:
        if encoding := _unmarked_utf16(data):
            raise _in_other(encoding, name, "a zero beside each letter")
        raise _binary(name)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(data, error, name) from error
    if _fraction_of_controls(text) > _MAX_CONTROLS:
        raise _binary(name)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _not_utf8(data: bytes, error: UnicodeDecodeError, name: str) -> ValueError:
    problem = f"`text` = {name!r} is not UTF-8 (byte {error.start + 1})"
    cut = error.reason == "unexpected end of data"
    if cut and not data[: error.start].isascii():
        return ValueError(f"{problem}: it ends within a character. Copy the whole file.")
    accents = sum(byte > 127 for byte in data) / len(data)
    controls = any(127 < byte < 160 for byte in data)  # letters of Windows, controls in Latin-1
    western = data.decode("cp1252" if controls else "latin-1", errors="replace")
    if "\ufffd" in western or _fraction_of_controls(western) > _MAX_CONTROLS:
        return _binary(name)
    if accents > _MAX_ACCENTS:
        return ValueError(
            f"{problem}. Find its encoding with `file -i {name!r}`, or in the editor that wrote "
            f"it, and convert it: iconv -f ENCODING -t utf-8 {name!r} > utf8.txt"
        )
    reads, option = ("Windows-1252", "cp1252") if controls else ("Latin-1", "latin1")
    end = " If it was cut within its last character, copy the whole file." if cut else ""
    return ValueError(f"{problem}: it reads as {reads}. {_convert(option, name)}{end}")


def _in_other(encoding: str, name: str, sign: str) -> ValueError:
    return ValueError(
        f"`text` = {name!r} is not UTF-8: by {sign} it is {encoding.upper()}. "
        f"{_convert(encoding, name)}"
    )


def _binary(name: str) -> ValueError:
    return ValueError(
        f"`text` = {name!r} is not text: it holds bytes that occur in no text. Give a UTF-8 text; "
        "of a PDF or a document, save the text of it."
    )


def _convert(encoding: str, name: str) -> str:
    return f"Convert it: iconv -f {encoding} -t utf-8 {name!r} > utf8.txt"


def _unmarked_utf16(data: bytes) -> str:
    """The byte order in which the bytes are text; "" if they are in none."""
    for encoding in ("utf-16le", "utf-16be"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text and _fraction_of_controls(text) <= _MAX_CONTROLS:
            return encoding
    return ""


def _fraction_of_controls(text: str) -> float:
    """The share of characters that no text has: controls, private ones and unassigned ones."""
    return len(_ODD.findall(text)) / max(len(text), 1)
