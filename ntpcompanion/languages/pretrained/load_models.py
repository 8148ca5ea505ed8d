"""What is trained or collected elsewhere: files of the Hugging Face hub, and OPT as a language of
its most frequent tokens.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import torch

from ntpcompanion.checks import Count, Device, Is, Shape, Size, checked
from ntpcompanion.languages.pretrained.causal_language import CausalLanguage
from ntpcompanion.languages.pretrained.gguf_weights import PACKAGED, converted
from ntpcompanion.languages.pretrained.needed import needed
from ntpcompanion.validation import as_integer, check_instance

# seconds to wait for an answer of the hub; transformers and datasets themselves try for half a
# minute
PATIENCE = 5.0
# OPT-125M has no safetensors; weights of other frameworks are left out
MODEL_FILES = ("*.json", "*.txt", "*.safetensors", "*.bin")
# strings at one time where every token is a word: distributions of 50,000 tokens take 0.4 MB each
ALL_TOKENS_CHUNK = 64


FloatingType = Annotated[
    torch.dtype, Is(lambda dtype: dtype.is_floating_point, "be a floating-point type of torch")
]


@checked
def load_opt(
    source: str = "facebook/opt-125m",
    words: int | Annotated[Sequence[int], Shape("c", integers=True)] = 2000,
    *,
    length: Size = 24,
    ends: bool = True,
    sentences: Size = 1024,
    seed: Count = 0,
    dtype: FloatingType = torch.float32,
    device: Device = "cpu",
    chunk: Size = 256,
) -> tuple[CausalLanguage, Callable[..., Any]]:
    """OPT, or another causal model, as a language of its most frequent tokens, and its tokenizer;
    the defaults are Liu et al.'s sizes.

    The paper does not say in which text the tokens are the most frequent. Here it is that of the
    model itself: `length` tokens sampled after its first one without any restriction but that
    special tokens are left out, most frequent first (`word_frequencies`). Nor does it say what ends
    a sentence; its sentences have 16 words on average and 24 at most. Here it is the model's own
    token for that.

    Parameters
    ----------
    source
        a folder with weights, configuration and tokenizer in the format of transformers, a file in
        the format GGUF, "smollm2" (see `gguf_weights.PACKAGED`), or a name on the Hugging Face hub,
        which is downloaded once.
    words
        how many tokens, or which: then their ids, and nothing is sampled.
    length
        of a sentence, at most.
    ends
        whether the model's end-of-text token ends a sentence, see `CausalLanguage`; otherwise all
        have `length` words.
    sentences, seed
        from how many sampled texts frequencies are estimated, and the seed of their generator on
        the CPU.
    dtype, device
        in which precision, and where, the model computes.
    chunk
        see `CausalLanguage`.

    Returns
    -------
    tuple of CausalLanguage and callable
        the language; its tokenizer.

    Raises
    ------
    ImportError
        transformers is not installed.
    FileNotFoundError
        neither a folder nor a name whose files can be had; a folder without a complete model and
        tokenizer.
    ValueError
        more words than the model has tokens, a model without tokens for start and end, a number out
        of its range, and what `CausalLanguage` rejects.

    Notes
    -----
    The default samples 25,000 tokens of OPT-125M: a few minutes on two cores. Give the ids to skip
    that. Source: Liu et al. 2023, sections 3.2 and A.1.
    """
    model, tokenizer = load_causal_model(source, dtype=dtype, device=device)
    bos, end = (special_token(model, source, name) for name in ("bos", "eos"))
    chosen = (
        frequent_words(model, tokenizer, (bos, end), words, length, sentences=sentences, seed=seed)
        if isinstance(words, int)
        else words
    )
    return CausalLanguage(model, chosen, bos, length, end if ends else None, chunk), tokenizer


def frequent_words(
    model: torch.nn.Module,
    tokenizer: Any,
    special: Sequence[int],
    words: int,
    length: int,
    *,
    sentences: int,
    seed: int,
) -> torch.Tensor:
    """The most frequent tokens, most frequent first, in `sentences` texts of `length` tokens that
    the model samples after the first of the `special` ones: these, and those that the tokenizer
    calls special, are left out. (words,) ids. Raises ValueError for more words than there are.
    """
    left_out = {*special, *tokenizer.all_special_ids}
    ordinary = sorted({*range(min(len(tokenizer), model.config.vocab_size))} - left_out)
    as_integer("words", words, 1, len(ordinary), "(tokens that are not special)")
    every = CausalLanguage(model, ordinary, special[0], length, chunk=ALL_TOKENS_CHUNK)
    frequencies = every.word_frequencies(sentences, torch.Generator().manual_seed(seed)).cpu()
    return every.words[frequencies.argsort(descending=True, stable=True)[:words]]


@checked
def load_causal_model(
    source: str, *, dtype: FloatingType = torch.float32, device: Device = "cpu"
) -> tuple[torch.nn.Module, Any]:
    """A causal model of transformers in evaluation mode, and its tokenizer.

    Parameters
    ----------
    source, dtype, device
        as in `load_opt`.

    Returns
    -------
    tuple of torch.nn.Module and tokenizer
        of transformers.

    Raises
    ------
    ImportError
        transformers is not installed.
    FileNotFoundError
        neither a folder nor a name whose files can be had; a folder without a complete model and
        tokenizer.
    MemoryError
        too little memory to convert a file in the format GGUF.
    """
    transformers = needed("transformers")
    if source in PACKAGED or str(source).endswith(".gguf"):
        folder = converted(source)
    else:
        folder = local_copy(source, "model", MODEL_FILES)
    try:
        options = {"dtype": dtype, "local_files_only": True, "output_loading_info": True}
        model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, **options)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # what damaged files raise is anything
        raise FileNotFoundError(
            f"`source` = {source!r} holds no complete causal model and tokenizer: {error}"
        ) from error
    if info["missing_keys"]:
        missing = sorted(info["missing_keys"])
        raise FileNotFoundError(
            f"`source` = {source!r} lacks weights of the model: {missing[:3]}, {len(missing)} in "
            "all. Download it again."
        )
    # transformers makes an empty one where there is none
    if not {*range(len(tokenizer))} - {*tokenizer.all_special_ids}:
        raise FileNotFoundError(
            f"`source` = {source!r} holds no tokenizer, or an empty one. Get its files from where "
            "the weights are from."
        )
    return model.eval().to(device), tokenizer


def special_token(model: Any, source: str, kind: Literal["bos", "eos"]) -> int:
    """The token with which texts begin, or end; ValueError if the model names none."""
    token = getattr(model.config, f"{kind}_token_id")
    if not isinstance(token, int):
        name = {"bos": "start", "eos": "end"}[kind]
        got = f"{source!r}, whose config.json names {token}"
        raise ValueError(f"`source` must have a token for the {name} of a text, got {got}.")
    return token


def local_copy(source: str, kind: str, files: Sequence[str]) -> Path:
    """The folder that `source` names, or that holds the files of that name on the Hugging Face hub,
    downloaded if they are not there yet.

    `kind` is "model" or "dataset", and `files` are patterns of the files that are needed. Without a
    network, the files of an earlier download are taken; whether there is one is known within
    PATIENCE seconds. Raises `ImportError` where huggingface_hub is not installed, and
    `FileNotFoundError` where the files are neither here nor to be had.
    """
    check_instance("source", source, str)
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder
    hub, trouble = needed("huggingface_hub"), None
    try:
        hub.HfApi().repo_info(source, repo_type=kind, timeout=PATIENCE)
    except Exception as error:  # of the library of the network, which changes between versions
        trouble = error
    try:
        return Path(
            hub.snapshot_download(
                source,
                repo_type=kind,
                allow_patterns=list(files),
                local_files_only=trouble is not None,
            )
        )
    except Exception as error:
        kinds = "" if kind == "model" else f" --repo-type {kind}"
        why = str(trouble or error).strip().split("\n")[0]
        raise FileNotFoundError(
            f"`source` = {source!r} is neither a folder here nor a {kind} that could be "
            f"downloaded: {why}. Where there is a network, run "
            f"`hf download {source}{kinds} --local-dir FOLDER`, bring FOLDER here, and give its "
            "path."
        ) from (trouble or error)
