"""The values a parameter may take, written as mathematicians do behind two spaces at the end of its
comment: `[1, inf)` or `{fast, exact}`; with `FILE` among the words, any text may be the path of a
file.
"""

import re
from dataclasses import dataclass

from ntpcompanion.workflow.base.errors import WorkflowError

FILE = "FILE"  # the word that stands for the path of any file
# braces, or a pair that begins with a number; other brackets are prose
_MEANT = re.compile(
    r"(?:^|  )(\{[^{}]*\}|[\[(]\s*(?:[-+.\d∞]|inf\b)[^\[\](){}]*[,;][^\[\](){}]*[\])])$"
)
_INTERVAL = re.compile(r"[\[(]\s*(\S+)\s*,\s*(\S+?)\s*[\])]")


@dataclass(frozen=True)
class Domain:
    """An interval or a set of words; `text` is how it was written, and its brackets say which ends
    belong to it.
    """

    text: str
    low: float = float("-inf")
    high: float = float("inf")
    words: tuple[str, ...] = ()

    def __contains__(self, value: object) -> bool:
        if self.words or not isinstance(value, (int, float)):
            return value in self.words or (FILE in self.words and isinstance(value, str))
        above = value > self.low if self.text.startswith("(") else value >= self.low
        return above and (value < self.high if self.text.endswith(")") else value <= self.high)

    def __str__(self) -> str:
        return self.text


def parse_domain(comment: str, where: str) -> Domain | None:
    """The domain that a comment ends in, or None. Raises WorkflowError for one that cannot be read:
    it would check nothing.
    """
    if not (meant := _MEANT.search(comment)):
        return None
    text = meant[1]
    if text.startswith("{"):
        words = tuple(word.strip() for word in text[1:-1].split(","))
        if all(words):
            return Domain(text, words=words)
    elif interval := _INTERVAL.fullmatch(text):
        try:
            low, high = map(float, interval.groups())
        except ValueError:
            low = high = 0.0  # no numbers
        if low < high:
            return Domain(text, low, high)
    raise WorkflowError(
        f"{where}: its comment ends in {text!r}, which is not a domain. Write an interval like [1, "
        f"inf) or words like {{fast, exact}}; if it is prose, end it with a full stop."
    )
