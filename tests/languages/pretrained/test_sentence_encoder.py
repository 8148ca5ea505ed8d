"""An encoder of one layer, made here, and MiniLM where it is installed."""

from importlib import metadata

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from ntpcompanion.languages.pretrained import sentence_encoder
from ntpcompanion.languages.pretrained.needed import needed
from ntpcompanion.languages.pretrained.sentence_encoder import (
    embed_sentences,
    load_sentence_encoder,
)
from tests.languages.opt import TOKENS, scrambled, small_tokenizer

TEXTS = ["the film is bad", "what a film", "good"]


@pytest.fixture
def folder(tmp_path):
    transformers = needed("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(TOKENS), intermediate_size=8, **sizes)
    scrambled(transformers.BertModel(config)).float().save_pretrained(tmp_path / "bert")
    small_tokenizer().save_pretrained(tmp_path / "bert")
    return tmp_path / "bert"


def test_an_embedding_is_the_mean_state_of_a_sentence_read_alone(folder):
    model, tokenizer = load_sentence_encoder(str(folder))
    embeddings = embed_sentences(model, tokenizer, TEXTS)
    for text, row in zip(TEXTS, embeddings, strict=True):
        with torch.no_grad():
            mean = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        assert row == pytest.approx((mean / mean.norm()).numpy(), abs=1e-5)
    assert embed_sentences(model, tokenizer, TEXTS, 1) == pytest.approx(embeddings, abs=1e-5)
    assert embeddings.dtype == np.float64
    assert not model.training


def test_missing_weights_and_files_are_named(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["embeddings.word_embeddings.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(FileNotFoundError, match=r"lacks weights .*word_embeddings"):
        load_sentence_encoder(str(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="holds no complete encoder and tokenizer"):
        load_sentence_encoder(str(folder))


def test_a_package_that_is_missing_or_damaged_is_named(folder, monkeypatch):
    class Damaged:
        def locate_file(self, name):
            return folder / "config.json"

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", lambda name: Damaged())
    with pytest.raises(FileNotFoundError, match=r"damaged or another model\. Run `make p"):
        load_sentence_encoder("minilm")
    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(FileNotFoundError, match=r"all-MiniLM-L6-v2.* is not installed\. Run"):
        load_sentence_encoder("minilm")


@pytest.mark.slow
def test_the_real_encoder_puts_like_sentences_together():
    try:
        metadata.distribution(sentence_encoder.MINILM.package)
    except metadata.PackageNotFoundError:
        pytest.skip("MiniLM is not installed.")
    texts = ["A cat sat on the mat.", "A kitten was sitting on a rug.", "Stocks fell in March."]
    rows = embed_sentences(*load_sentence_encoder("minilm"), texts)
    assert rows.shape == (3, 384)
    near, far = rows[0] @ rows[1], rows[0] @ rows[2]
    assert near > 0.5
    assert far < 0.2
