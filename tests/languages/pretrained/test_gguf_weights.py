import shutil
from dataclasses import replace
from importlib import metadata

import gguf
import numpy as np
import pytest
import torch

from ntpcompanion.languages.pretrained import gguf_weights
from ntpcompanion.languages.pretrained.gguf_weights import PACKAGED, PackagedModel, converted
from ntpcompanion.languages.pretrained.load_models import load_opt
from ntpcompanion.languages.pretrained.needed import needed

WIDTH, HEADS, WORDS, INNER = 32, 2, 40, 32
LETTERS = [chr(ord("a") + i) for i in range(26)]
TOKENS = ["<s>", "</s>", "<unk>", "ab", *LETTERS, *map(str, range(10))]
NAMES = {
    "token_embd": "embed_tokens",
    "output_norm": "norm",
    "blk.0.attn_norm": "layers.0.input_layernorm",
    "blk.0.attn_v": "layers.0.self_attn.v_proj",
    "blk.0.attn_output": "layers.0.self_attn.o_proj",
    "blk.0.ffn_norm": "layers.0.post_attention_layernorm",
    "blk.0.ffn_gate": "layers.0.mlp.gate_proj",
    "blk.0.ffn_up": "layers.0.mlp.up_proj",
    "blk.0.ffn_down": "layers.0.mlp.down_proj",
}


def matrices():
    draws = np.random.default_rng(0)
    shapes = dict.fromkeys(NAMES, (WIDTH, WIDTH)) | {"token_embd": (WORDS, WIDTH)}
    shapes |= {name: (WIDTH,) for name in NAMES if name.endswith("norm")}
    shapes |= {f"blk.0.attn_{x}": (WIDTH, WIDTH) for x in "qk"}
    return {name: draws.normal(size=s).astype(np.float32) for name, s in shapes.items()}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A model of the architecture of Llama with one layer, every weight random."""
    path = tmp_path_factory.mktemp("weights") / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(16)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(WORDS)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 3, *[1] * (WORDS - 3)])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    for name, matrix in matrices().items():
        writer.add_tensor(f"{name}.weight", matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_folder_holds_the_weights_of_the_file_and_is_made_once(file, tmp_path, monkeypatch):
    folder = converted(str(file), tmp_path)
    model = needed("transformers").AutoModelForCausalLM.from_pretrained(folder).model
    weights, state = matrices(), model.state_dict()
    for short, long in NAMES.items():
        assert np.array_equal(state[f"{long}.weight"].numpy(), weights[short])
    monkeypatch.setattr(gguf_weights, "_convert", None)
    assert converted(str(file), tmp_path) == folder
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_it_is_a_language_of_some_of_its_tokens(file, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path))
    language, tokenizer = load_opt(str(file), [4, 5, 6], length=2, ends=False)
    assert [path.stem for path in (tmp_path / "converted-gguf").iterdir()] == [
        converted(str(file)).stem
    ]
    assert len(tokenizer) >= WORDS
    every = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    assert float(language.log_prob(every).exp().sum()) == pytest.approx(1)


def planted(monkeypatch, file, **changes):
    model = PackagedModel("small-model", "1.0", file.name, "0" * 64, "MIT", "a small model")
    monkeypatch.setitem(PACKAGED, "small", replace(model, **changes))

    class Installed:
        def locate_file(self, name):
            return file.parent / name

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())


def test_another_file_in_the_package_is_named(file, tmp_path, monkeypatch):
    planted(monkeypatch, file)
    with pytest.raises(FileNotFoundError, match=r"damaged or another model.*not 000000000000…"):
        converted("small", tmp_path)


def test_a_package_that_is_not_installed_is_named(tmp_path, monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(FileNotFoundError, match=r"'smollm2' \(SmolLM2-135M.*4 bits\) is not inst"):
        converted("smollm2", tmp_path)


def test_half_a_file_and_no_file_leave_nothing(file, tmp_path):
    half = tmp_path / "half.gguf"
    half.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(FileNotFoundError, match="is not a complete file in the format GGUF"):
        converted(str(half), tmp_path / "cache")
    with pytest.raises(FileNotFoundError, match=r"none\.gguf' is not a file"):
        converted(str(tmp_path / "none.gguf"), tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_conversion_that_fails_leaves_nothing(file, tmp_path, monkeypatch):
    auto = needed("transformers").AutoTokenizer

    def full(*arguments, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr(auto, "from_pretrained", full)
    with pytest.raises(FileNotFoundError, match="reads: No space left"):
        converted(str(file), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_said_before_loading(file, tmp_path, monkeypatch):
    copy = shutil.copy(file, tmp_path / "copy.gguf")
    monkeypatch.setattr(gguf_weights, "machine_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"needs 0\.0 GiB of memory to be converted, and this"):
        converted(str(copy), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_real_model_knows_a_capital(tmp_path):
    try:
        folder = converted("smollm2", tmp_path)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    transformers = needed("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    tokens = torch.tensor([tokenizer.encode("The capital of France is")])
    with torch.no_grad():
        chances = model(tokens).logits[0, -1].softmax(0)
    assert tokenizer.decode(int(chances.argmax())) == " Paris"
    assert float(chances.max()) == pytest.approx(0.773, abs=0.01)
