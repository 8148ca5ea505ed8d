"""SST-2 and QNLI of GLUE as sentences of a language: the downstream tasks of the OPT language."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ntpcompanion.languages.language import PADDING
from ntpcompanion.languages.pretrained.causal import CausalLanguage
from ntpcompanion.languages.pretrained.hub import local_copy, needed
from ntpcompanion.validation import check_callable, check_choice, check_instance

# of each task the columns that make the text
TASKS = {"sst2": ("sentence",), "qnli": ("question", "sentence")}


@dataclass(frozen=True)
class GlueSplit:
    """One split of a task.

    Fields
    ------
    texts
        the sentence of SST-2; the question of QNLI, a space, and the sentence that may answer it.
    labels
        0 or 1 as in GLUE (SST-2: negative, positive; QNLI: entailment, not entailment); −1 in a
        test split, whose labels are secret.
    """

    texts: tuple[str, ...]
    labels: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class EncodedExamples:
    """Examples as sentences of a language, and what got lost.

    Fields
    ------
    tokens
        (n, length) int64, padded with −1.
    labels
        (n,) int64.
    tokens_kept
        the share of all tokens of all texts that are words of the language, before texts are cut.
    examples_cut
        the share of all examples that had more than `length` such words.
    examples_kept
        the share of all examples with at least one such word.
    """

    tokens: Int[Tensor, "n length"]
    labels: Int[Tensor, " n"]
    tokens_kept: float
    examples_cut: float
    examples_kept: float


def load_glue(task: str, source: str = "nyu-mll/glue") -> dict[str, GlueSplit]:
    """The splits of SST-2 ("sst2") or QNLI ("qnli") by name: "train", "validation" and "test".

    Parameters
    ----------
    task
        "sst2" or "qnli".
    source
        a folder with a folder for each task, in which the files of a split begin with its name, as
        in `sst2/train-00000-of-00001.parquet` (Parquet, JSON lines or CSV); or a name on the
        Hugging Face hub, from which the task is downloaded once.

    Returns
    -------
    dict of GlueSplit
        texts and labels, by the name of the split.

    Raises
    ------
    ImportError
        datasets is not installed.
    FileNotFoundError
        no such folder, and nothing of that name could be downloaded; no such task in it.
    ValueError
        another task; files that cannot be read, or without its columns.
    """
    check_choice("task", task, TASKS)
    datasets = needed("datasets")
    folder = local_copy(source, "dataset", [f"{task}/*"]) / task
    if not folder.is_dir():
        raise FileNotFoundError(
            f"`source` = {source!r} has no folder {task!r}. Give one that holds it, or have a "
            "network."
        )
    try:
        splits = datasets.load_dataset(str(folder))
    except Exception as error:  # of the library of whichever format the files are in
        raise ValueError(
            f"`source`: the files of '{source}/{task}' cannot be read: {error}. Download them "
            "again."
        ) from error
    return {
        name: _examples(split.to_dict(), task, f"{source}/{task}") for name, split in splits.items()
    }


def _examples(columns: dict[str, list[Any]], task: str, source: str) -> GlueSplit:
    missing = [name for name in (*TASKS[task], "label") if name not in columns]
    if missing:
        raise ValueError(
            f"`source`: the files of {source!r} have no column {', '.join(missing)}, but "
            f"{', '.join(columns)}. Is it GLUE's?"
        )
    texts = zip(*(columns[name] for name in TASKS[task]), strict=True)
    return GlueSplit(tuple(map(" ".join, texts)), tuple(columns["label"]))


def encode(
    examples: GlueSplit, tokenizer: Callable[..., Any], language: CausalLanguage
) -> EncodedExamples:
    """The examples as sentences of the language, for its masked conditionals and for a model
    trained on it.

    The paper removes logits and does not say what becomes of other tokens in these texts. Here they
    are dropped and the words that are left close up: few texts have none, so that leaving out whole
    examples would leave almost nothing. What is left is cut at the length of the language, which
    often takes the sentence of QNLI; an example without a word is left out.

    Parameters
    ----------
    tokenizer
        the one that `load_opt` returns with the language.

    Raises
    ------
    ValueError
        no examples, or none with a word of the language; arguments of another kind.
    """
    check_instance("examples", examples, GlueSplit)
    check_callable("tokenizer", tokenizer)
    check_instance("language", language, CausalLanguage)
    if not examples.texts:
        raise ValueError("`examples` is empty. Give a split with texts.")
    ids = [
        torch.tensor(row, dtype=torch.int64)
        for row in tokenizer(list(examples.texts), add_special_tokens=False)["input_ids"]
    ]
    word_of = torch.full(
        (1 + max(int(row.max()) for row in (language.words, *ids) if len(row)),), PADDING
    )
    word_of[language.words] = torch.arange(language.vocab_size)
    words = [row[row != PADDING] for row in (word_of[row] for row in ids)]
    counts = torch.tensor([len(row) for row in words])
    kept = counts > 0
    if not kept.any():
        raise ValueError(
            f"`examples`: none of {len(counts)} texts has a word of the language. Is `tokenizer` "
            "the one of its model?"
        )
    tokens = torch.full((len(words), language.length), PADDING)
    for row, sentence in zip(tokens, words, strict=True):
        row[: len(sentence)] = sentence[: language.length]
    return EncodedExamples(
        tokens[kept],
        torch.tensor(examples.labels)[kept],
        tokens_kept=int(counts.sum()) / sum(map(len, ids)),
        examples_cut=_share(counts > language.length),
        examples_kept=_share(kept),
    )


def _share(which: Bool[Tensor, " n"]) -> float:
    return float(which.double().mean())
