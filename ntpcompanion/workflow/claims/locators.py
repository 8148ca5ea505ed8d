"""Where in a paper: its results, by the words that a locator of a claim begins with."""

import re

# Results of a paper as readers look for them: statements first, then experiments, then text.
ORDER = (
    "Equation", "Definition", "Assumption", "Remark", "Proposition", "Lemma", "Fact", "Theorem",
    "Corollary", "Figure", "Table", "Section", "Footnote", "Appendix",
)  # fmt: skip
_ABBREVIATED = {"Fig.": "Figure", "Eq.": "Equation", "Sec.": "Section", "App.": "Appendix"}


def paper_result(locator: str) -> str:
    """The result of a paper that a locator begins with: `about Fig. 3, trace` → `Figure 3`."""
    head = re.split(r"[,:;]| and | \(", locator.removeprefix("about "))[0].strip()
    numbered = re.match(r"Equation \((\d+)\)", locator.removeprefix("about "))
    if numbered:
        head = f"Equation {numbered[1]}"
    word, _, rest = head.partition(" ")
    word = _ABBREVIATED.get(word, word)
    if word.endswith("s") and word[:-1] in ORDER:  # `Equations 4 and 6`, `Figures 3 to 5`
        word, rest = word[:-1], rest.split(" ")[0]
    return f"{word} {rest}".strip()


def result_order(result: str) -> tuple[int, list[tuple[bool, int, str]]]:
    """A key that sorts results by sort of statement, then by number: Lemma 2 before Lemma 10, and
    that before Lemma D.1 of an appendix.
    """
    word, _, rest = result.partition(" ")
    place = ORDER.index(word) if word in ORDER else len(ORDER)
    parts = re.findall(r"(\d+)|([^\d\W]+)", rest if word in ORDER else result)
    return place, [(not number, int(number or 0), text) for number, text in parts]
