import importlib.util
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ntpcompanion.languages.pretrained.causal_language import CausalLanguage
from ntpcompanion.languages.pretrained.load_models import load_opt, local_copy
from ntpcompanion.languages.pretrained.needed import needed
from tests.languages.opt import TOKENS, generator, small_opt, small_tokenizer

SPECIAL = 3


@pytest.fixture
def folder(tmp_path):
    small_opt().save_pretrained(tmp_path / "opt")
    small_tokenizer().save_pretrained(tmp_path / "opt")
    return tmp_path / "opt"


@pytest.fixture
def no_network(tmp_path, monkeypatch):
    """The hub is at an address where nobody answers, and nothing was downloaded before; returns
    where downloads are kept.
    """
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_a_saved_model_is_the_language_of_its_most_frequent_tokens(folder):
    language, tokenizer = load_opt(str(folder), 4, length=3, sentences=200, dtype=torch.float64)
    every = CausalLanguage(small_opt(), list(range(SPECIAL, len(TOKENS))), 2, 3)
    shares = every.word_frequencies(200, generator())
    assert language.words.tolist() == [
        SPECIAL + int(i) for i in shares.argsort(descending=True)[:4]
    ]
    assert (language.bos, language.end, language.length, language.chunk) == (2, 2, 3, 256)
    tokens = language.sample(20, generator())
    assert torch.allclose(
        language.log_prob(tokens),
        CausalLanguage(small_opt(), language.words, 2, 3, 2).log_prob(tokens),
        atol=1e-12,
    )
    assert tokenizer("the film is odd")["input_ids"] == [3, 4, 5, 0]


def test_words_may_be_named_and_sentences_kept_from_ending(folder):
    language, _ = load_opt(str(folder), [7, 4], length=3, ends=False, chunk=5)
    assert language.words.tolist() == [7, 4]
    assert (language.end, language.chunk) == (None, 5)
    assert language.model.dtype == torch.float32
    assert not language.model.training
    assert (language.sample(50, generator()) >= 0).all()


@pytest.mark.parametrize("prefix", ["model.", ""])
def test_weights_as_the_real_opt_has_them_are_read(folder, prefix):
    """OPT-125M is stored as pytorch_model.bin in half precision, without the output layer, which is
    the embedding.
    """
    weights = {
        name.removeprefix("model."): tensor.half()
        for name, tensor in small_opt().model.state_dict().items()
    }
    torch.save(
        {prefix + name: tensor for name, tensor in weights.items()}, folder / "pytorch_model.bin"
    )
    (folder / "model.safetensors").unlink()
    language, _ = load_opt(str(folder), [7, 4], length=3)
    tokens = torch.tensor([[0, 1, 0], [1, 1, 0]])
    assert language.model.dtype == torch.float32
    assert torch.allclose(
        language.log_prob(tokens),
        CausalLanguage(small_opt(), [7, 4], 2, 3, 2).log_prob(tokens),
        atol=0.03,
    )


@pytest.mark.parametrize("words", [0, 10])
def test_a_number_of_words_that_the_model_does_not_have_is_refused(folder, words):
    with pytest.raises(
        ValueError,
        match=(rf"`words` must lie in 1 … 9 .*, got {words}"),
    ):
        load_opt(str(folder), words, length=3)


def test_a_folder_without_weights_is_refused(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(
        FileNotFoundError,
        match=(
            r"`source` = '.*opt' holds no complete causal model and tokenizer: "
            r".*model\.safetensors"
        ),
    ):
        load_opt(str(folder))


def test_a_folder_without_tokenizer_is_refused(folder):
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(
        FileNotFoundError,
        match=r"`source` = '.*opt' holds no tokenizer, or an empty one. Get its files",
    ):
        load_opt(str(folder), [7, 4], length=3)


def test_missing_weights_are_not_made_up(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.decoder.layers.1.fc1.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        FileNotFoundError,
        match=(
            r"`source` = '.*opt' lacks weights .*'model\.decoder\.layers\.1\.fc1\.weight'\], 1 in "
            r"all"
        ),
    ):
        load_opt(str(folder))


def test_damaged_weights_are_refused(folder):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        FileNotFoundError, match=r"`source` = '.*opt' holds no complete causal model and tokenizer"
    ):
        load_opt(str(folder))


def test_a_model_without_a_token_for_the_start_is_refused(folder):
    small_opt(bos_token_id=None).save_pretrained(folder)
    with pytest.raises(
        ValueError,
        match=("`source`"),
    ):
        load_opt(str(folder))


@pytest.mark.usefixtures("no_network")
def test_without_a_network_it_is_said_in_seconds_how_to_go_on():
    start = time.monotonic()
    words = (
        r"`source` = 'facebook/opt-125m' is neither a folder here nor a model .*: \[Errno.*`hf "
        r"download facebook/opt-125m --local-dir F"
    )
    with pytest.raises(FileNotFoundError, match=words):
        load_opt()
    assert time.monotonic() - start < 15


@pytest.mark.usefixtures("no_network")
def test_a_folder_that_is_not_there_is_refused():
    with pytest.raises(
        FileNotFoundError,
        match=(
            r"`source` = '/no/such/folder' is neither a folder here nor a dataset .*--repo-type "
            r"dataset"
        ),
    ):
        local_copy("/no/such/folder", "dataset", ["*"])


def test_without_a_network_an_earlier_download_serves(no_network, folder):
    repository = no_network / "models--someone--opt"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    (repository / "snapshots").mkdir()
    folder.rename(repository / "snapshots" / ("0" * 40))
    assert load_opt("someone/opt", [7, 4], length=3)[0].words.tolist() == [7, 4]


@pytest.mark.parametrize("module", ["transformers", "huggingface_hub"])
def test_a_missing_library_is_named_with_its_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError,
        match=rf"{module} is not installed\. Run `pip install -c constraints\.txt -e '\.\[opt\]'`",
    ):
        load_opt("no folder")


def test_a_torchvision_that_cannot_be_imported_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "torchvision.py").write_text(
        "raise RuntimeError('operator torchvision::nms does not exist')"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.delitem(sys.modules, "torchvision")
    needed("transformers")
    with pytest.raises(ImportError, match="import of torchvision halted"):
        import torchvision  # noqa: F401


@pytest.mark.parametrize("module", ["causal_language", "load_models", "word_model"])
def test_importing_a_module_loads_no_library_of_the_extra(module):
    source = Path(
        importlib.util.find_spec(f"ntpcompanion.languages.pretrained.{module}").origin
    ).read_text(encoding="utf-8")
    outside = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert outside
    assert not [
        line
        for line in outside
        if line.split()[1].split(".")[0]
        in ("transformers", "datasets", "huggingface_hub", "tokenizers")
    ]
