"""The meaning of a symbol where it stands: entries of the notation page for the formulas of a page
that are one symbol.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from html import escape, unescape
from pathlib import PurePosixPath

_TABLE = re.compile(r"^## +(?P<title>.+?)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PAGES = re.compile(r"^% pages: *(?P<pages>.*)$", re.MULTILINE)
_ROW = re.compile(r"^\|(?P<cells>.*)\|\s*$", re.MULTILINE)
_FORMULA = re.compile(r"\$([^$]+)\$")
_SHOWN = re.compile(
    r'(?P<start><span class="math[^"]*")>(?P<rest>\s*\\\((?P<tex>.*?)\\\)\s*</span>)', re.DOTALL
)


@dataclass(frozen=True)
class Entry:
    """A row of a table of notation: its symbols, each as TeX, and its `meaning`, in which formulas
    stand between dollars; `pages` are the chapters to which the table belongs.
    """

    symbols: tuple[str, ...]
    meaning: str
    pages: tuple[str, ...]


def read_notation(text: str) -> list[Entry]:
    """The rows of all tables of the notation page that say to which chapters they belong, in a line
    "% pages: mean spread" below their heading.
    """
    entries = []
    for table in _TABLE.finditer(text):
        pages = _PAGES.search(table["body"])
        if pages is None:
            continue
        for row in _ROW.findall(table["body"]):
            symbol, _, rest = row.partition(" | ")
            meaning = rest.partition(" | ")[0].strip()
            # neither the heads nor the line below them have a formula in the first cell
            if symbols := tuple(_symbols(symbol)):
                entries.append(Entry(symbols, meaning, tuple(pages["pages"].split())))
    return entries


def _symbols(cell: str) -> list[str]:
    """The symbols of a first cell; a list inside of one formula is several, and of an equation the
    left side counts.
    """
    symbols = []
    for formula in _FORMULA.findall(cell):
        nested = re.search(r"[(\[{][^)\]}]*(?:, | = )|\\langle", formula)
        parts = [formula] if nested else re.split(r"(?<!\\), ", formula)
        left = parts if nested else [part.split(" = ")[0] for part in parts]
        symbols += [part for part in left if r"\dots" not in part]
    return symbols


def meanings(entries: list[Entry], page: str) -> dict[str, Entry]:
    """The entries for a chapter by symbol, without spaces. A symbol with several meanings there has
    none here.
    """
    page_entries = [entry for entry in entries if PurePosixPath(page).name in entry.pages]
    named = [(bare(symbol), entry) for entry in page_entries for symbol in entry.symbols]
    count = Counter(symbol for symbol, _ in named)
    return {symbol: entry for symbol, entry in named if count[symbol] == 1}


def bare(tex: str) -> str:
    """A formula without spaces, and without braces around a single sign, by which it is found."""
    return re.sub(r"\{(\w)\}", r"\1", re.sub(r"\s+", "", unescape(tex)))


def with_symbols(html: str, entries: list[Entry], page: str) -> str:
    """The body of a chapter whose formulas that are one symbol say which, with the meanings as data
    for `tips.js`; other pages are left alone.
    """
    known = meanings(entries, page)
    data: dict[str, dict[str, str]] = {}

    def marked(match: re.Match[str]) -> str:
        symbol = bare(match["tex"])
        if symbol not in known:
            return match[0]
        entry = known[symbol]
        data[symbol] = {
            "symbols": ", ".join(rf"\({tex}\)" for tex in entry.symbols),
            "meaning": _FORMULA.sub(r"\\(\1\\)", entry.meaning),
        }
        return f'{match["start"]} data-symbol="{escape(symbol)}">{match["rest"]}'

    html = _SHOWN.sub(marked, html)
    if not data:
        return html
    # no "<" of a formula may end the element
    text = json.dumps(data, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
    return f'{html}\n<script type="application/json" id="ntp-symbols">{text}</script>'
