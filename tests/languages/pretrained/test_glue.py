import pytest
import torch

from ntpcompanion.languages.pretrained.causal import CausalLanguage
from ntpcompanion.languages.pretrained.glue import GlueSplit, encode, load_glue
from ntpcompanion.languages.pretrained.hub import needed
from tests.languages.opt import generator, small_opt, small_tokenizer

SST2 = {
    "train": {
        "sentence": ["the film is not bad", "good", "rare odd things"],
        "label": [1, 1, 0],
        "idx": [0, 1, 2],
    },
    "validation": {"sentence": ["bad film"], "label": [0], "idx": [0]},
    "test": {"sentence": ["what a film"], "label": [-1], "idx": [0]},
}
QNLI = {
    "train": {
        "question": ["what film", "what is bad"],
        "sentence": ["the good", "a film"],
        "label": [1, 0],
        "idx": [0, 1],
    }
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of the hub: a folder a task, a Parquet file a split; QNLI as JSON lines, which will
    do as well.
    """
    datasets = needed("datasets")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for name, columns in SST2.items():
        datasets.Dataset.from_dict(columns).to_parquet(
            tmp_path / "glue" / "sst2" / f"{name}-00000-of-00001.parquet"
        )
    (tmp_path / "glue" / "qnli").mkdir()
    datasets.Dataset.from_dict(QNLI["train"]).to_json(tmp_path / "glue" / "qnli" / "train.jsonl")
    return tmp_path / "glue"


def language(length=4, end=2):
    """Words 0 … 5 are: the film is bad good not."""
    return CausalLanguage(small_opt(), [3, 4, 5, 6, 7, 8], 2, length, end)


def test_splits_have_their_texts_and_labels(folder):
    splits = load_glue("sst2", str(folder))
    assert splits == {
        name: GlueSplit(tuple(columns["sentence"]), tuple(columns["label"]))
        for name, columns in SST2.items()
    }
    assert load_glue("qnli", str(folder)) == {
        "train": GlueSplit(("what film the good", "what is bad a film"), (1, 0))
    }


def test_examples_become_sentences_of_the_language(folder):
    encoded = encode(load_glue("sst2", str(folder))["train"], small_tokenizer(), language())
    assert encoded.tokens.tolist() == [[0, 1, 2, 5], [4, -1, -1, -1]]
    assert encoded.labels.tolist() == [1, 1]
    assert (encoded.tokens_kept, encoded.examples_cut, encoded.examples_kept) == pytest.approx(
        (6 / 9, 1 / 3, 2 / 3)
    )
    conditional = language().masked_conditional(encoded.tokens)
    assert torch.allclose(conditional.sum(-1), (encoded.tokens >= 0).double())


def test_words_that_the_language_lacks_are_dropped_and_the_rest_closes_up(folder):
    encoded = encode(
        load_glue("qnli", str(folder))["train"], small_tokenizer(), language(3, end=None)
    )
    assert encoded.tokens.tolist() == [[1, 0, 4], [2, 3, 1]]
    assert (encoded.tokens_kept, encoded.examples_cut, encoded.examples_kept) == (6 / 9, 0, 1)


def test_sentences_of_the_language_come_back(folder):
    tokens, tokenizer = language(6).sample(30, generator()), small_tokenizer()
    texts = tuple(tokenizer.decode(language().words[row[row >= 0]]) for row in tokens)
    assert torch.equal(encode(GlueSplit(texts, (0,) * 30), tokenizer, language(6)).tokens, tokens)


def test_what_cannot_be_encoded_is_refused():
    with pytest.raises(ValueError, match=r"`examples` is empty\. Give a split with texts"):
        encode(GlueSplit((), ()), small_tokenizer(), language())
    with pytest.raises(
        ValueError,
        match=(
            r"`examples`: none of 2 texts has a word of the language\. Is `tokenizer` the one of "
            r"its model"
        ),
    ):
        encode(GlueSplit(("odd", ""), (0, 1)), small_tokenizer(), language())
    with pytest.raises(ValueError, match="`examples`: none of 1 texts has a word"):
        encode(GlueSplit(("",), (0,)), small_tokenizer(), language())


def test_what_is_no_task_is_refused(folder):
    with pytest.raises(ValueError, match="`task` must be one of 'sst2', 'qnli', got 'mnli'"):
        load_glue("mnli", str(folder))
    with pytest.raises(
        FileNotFoundError,
        match=r"`source` = '.*sst2' has no folder 'qnli'\. Give one that holds it",
    ):
        load_glue("qnli", str(folder / "sst2"))


def test_files_of_another_kind_are_refused(folder):
    (folder / "other" / "sst2").mkdir(parents=True)
    needed("datasets").Dataset.from_dict({"text": ["a"], "label": [0]}).to_json(
        folder / "other" / "sst2" / "train.jsonl"
    )
    with pytest.raises(
        ValueError,
        match=(
            r"`source`: the files of '.*other/sst2' have no column sentence, but text, label\. Is "
            r"it GLUE's"
        ),
    ):
        load_glue("sst2", str(folder / "other"))


def test_damaged_files_are_refused(folder):
    (folder / "sst2" / "train-00000-of-00001.parquet").write_text("nothing")
    with pytest.raises(
        ValueError, match=r"`source`: the files of '.*/sst2' cannot be read: .* Download them again"
    ):
        load_glue("sst2", str(folder))


@pytest.mark.usefixtures("folder")
def test_without_a_network_it_is_said_how_to_go_on():
    words = (
        r"`source` = 'nyu-mll/glue' is neither a folder here .*`hf download nyu-mll/glue "
        r"--repo-type dataset --local-dir FOLDER`"
    )
    with pytest.raises(FileNotFoundError, match=words):
        load_glue("sst2")
