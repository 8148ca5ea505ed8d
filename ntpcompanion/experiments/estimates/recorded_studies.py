"""The recorded studies of downstream accuracy, read together: languages, widths and attacks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ntpcompanion.experiments.same_loss.recorded_study import Study, read_study

EIGHT = ("downstream_hmm8", "downstream_hmm8_adversarial", "downstream_hmm8_weak_adversary")
WIDER = ("downstream_hmm8_width64", "downstream_hmm8_width128")
SENTENCES = {"eight": 20_000, "six": 20_000, "twelve": 10_000, "grammar": 2000}


@dataclass(frozen=True, eq=False)
class RecordedStudies:
    """A study for each language, width and attack.

    Fields
    ------
    eight, six, twelve
        of hidden Markov models with so many states.
    grammar
        of the probabilistic grammar with 16 nonterminals.
    longer
        the language of `eight` after twice the steps, and with the penalties from there.
    width64, width128
        the language of `eight`, whose networks have width 32.
    six_attacked
        the language of `six` with the adversary; its saturated networks are its own, since another
        processor trained those of `six`.
    sentences
        how many were drawn for what a context is worth, by the fields of four languages.
    """

    eight: Study
    longer: Study
    width64: Study
    width128: Study
    six: Study
    six_attacked: Study
    twelve: Study
    grammar: Study
    sentences: Mapping[str, int] = field(default_factory=lambda: SENTENCES)

    @property
    def by_name(self) -> dict[str, Study]:
        """The studies that `comparisons.CASES` names."""
        return {
            "8 states": self.eight,
            "6 states": self.six,
            "6 states, attacked": self.six_attacked,
            "12 states": self.twelve,
            "grammar": self.grammar,
            "width 64": self.width64,
            "width 128": self.width128,
        }

    @property
    def by_width(self) -> dict[int, Study]:
        """Of the language of 8 states."""
        return {32: self.eight, 64: self.width64, 128: self.width128}


def read_studies(
    read: Callable[[str], Iterable[Any]],
    sentences: Mapping[str, int] | None = None,
    equal_share: float = 2.0,
) -> RecordedStudies:
    """All recorded studies.

    Parameters
    ----------
    read
        gives the runs of a record of this name, such as `show_record`.
    sentences
        by the fields `eight`, `six`, `twelve` and `grammar`: how many are drawn for what a context
        is worth; SENTENCES has those of fields that are left out.
    equal_share
        the mean excess, in per cent of the learnable gap, up to which a loss counts as equal.

    Raises ValueError as `read_study`. Cost 2 s.
    """
    drawn = {**SENTENCES, **(sentences or {})}

    def study(language: str, *names: str, **fields: Any) -> Study:
        tasks = [task for name in names for task in read(name)]
        return read_study(tasks, equal_share=equal_share, sentences=drawn[language], **fields)

    eight = study("eight", *EIGHT)
    six = study("six", "downstream_hmm6")
    longer, width64, width128 = (
        study("eight", name, gaps=eight.gaps) for name in ("downstream_hmm8_penalty", *WIDER)
    )
    return RecordedStudies(
        eight,
        longer,
        width64,
        width128,
        six,
        study("six", "downstream_hmm6_adversarial", gaps=six.gaps),
        study("twelve", "downstream_hmm12"),
        study("grammar", "downstream_pcfg16", enumerated=0),
        drawn,
    )


def keyed(table: pd.DataFrame, prefixes: Mapping[str, str]) -> dict[str, Any]:
    """The cells of a table as numbers for a text: each under the name of its column behind the
    prefix of its row.

    Examples
    --------
    >>> import pandas as pd
    >>> from ntpcompanion.experiments.estimates.recorded_studies import keyed
    >>> keyed(pd.DataFrame({"gain": {"six": "+1", "two": "−1"}}), {"six": "six_", "two": ""})
    {'six_gain': '+1', 'gain': '−1'}
    """
    return {
        f"{prefix}{column}": table.loc[row, column]
        for row, prefix in prefixes.items()
        for column in table.columns
    }
