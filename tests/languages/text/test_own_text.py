import random

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from ntpcompanion.languages.text.own_text import check_text
from ntpcompanion.languages.text.segmentation import split_text
from ntpcompanion.languages.text.words import encode

SIZES = {"vocab_size": 12, "context_length": 2}


@pytest.fixture
def written(tmp_path):
    """The path of a file with a text."""

    def write(text):
        path = tmp_path / "mine.txt"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def zipf(count, kinds=40):
    """Words of which a few are frequent."""
    rng = random.Random(0)
    words = [f"w{i}" for i in range(kinds)]
    return " ".join(rng.choices(words, [1 / (i + 1) for i in range(kinds)], k=count))


def test_enough_text_is_no_news(written):
    assert check_text(written(zipf(500)), **SIZES) == 500  # a warning would be an error
    assert check_text(written(zipf(500)), num_words=499, num_sequences=166, **SIZES) == 499
    check_text(written(zipf(500)), "characters", vocab_size=8, context_length=2)


@pytest.mark.parametrize(
    ("text", "given", "sentence"),
    [
        ("", {}, r"`text` = .* is empty\."),
        (
            ". , ; 😀 ! " * 50,
            {},
            "`tokenizer`",
        ),
        ("word", {}, r"has one word, of which 1 are read; with `context_length` = 2, at least 6"),
        ("word", {"num_words": 9}, r"has one word, and `num_words` = 9 asks for more\."),
        (zipf(50), {"num_words": 300}, r"has 50 words, and `num_words` = 300 asks for more"),
        (zipf(50), {"num_words": 5}, r"has 50 words, of which 5 are read; .* at least 6"),
        ("to " * 50, {"vocab_size": 2}, r"has 50 words, all the same: nothing is left to predict"),
        (
            "a b c " * 9,
            {"vocab_size": 5},
            "`vocab_size`",
        ),
        (zipf(500), {"vocab_size": 1}, r"`vocab_size` = 1 does not fit"),
    ],
)
def test_what_cannot_work_is_refused(written, text, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_text(written(text), **{**SIZES, **given})


def test_unknown_words_are_announced_and_then_refused(written):
    """The vocabulary that the sentence names leaves a half, by the encoding itself."""
    path = written(" ".join(f"w{i}" for i in range(100)))
    words = "^with `vocab_size` = 12, 89 % of the words are unknown; `vocab_size` = 51 leaves"
    with pytest.warns(UserWarning, match=words):
        check_text(path, **SIZES)
    words = split_text(" ".join(f"w{i}" for i in range(100))).tokens
    assert encode(words, 51).share_unknown == pytest.approx(0.5)
    with pytest.raises(ValueError, match="`vocab_size`"):
        check_text(path, vocab_size=10, context_length=2)


def test_what_a_tokenizer_does_not_know_is_unknown(written, tmp_path):
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "w0": 1, "w1": 2, "w2": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(path := tmp_path / "mine.json"))
    text = written(" ".join(f"w{i % 7}" for i in range(70)))  # of each 10
    words = "`vocab_size` = 4, 57 % of the tokens are unknown; 57 % are unknown to the tokenizer "
    with pytest.warns(UserWarning, match=words):
        check_text(text, str(path), vocab_size=4, context_length=2)
    with pytest.raises(ValueError, match=r"the 70 tokens that are read are 3 different ones\."):
        check_text(text, str(path), vocab_size=5, context_length=2)


def test_fewer_sequences_are_announced(written):
    words = "^`num_sequences` = 167, but the text is cut into 166 sequences of 3 words: all of them"
    with pytest.warns(UserWarning, match=words):
        check_text(written(zipf(500)), num_sequences=167, **SIZES)


@pytest.mark.parametrize(
    ("text", "tokenizer", "sentence"),
    [
        ("missing.txt", "words", "`text` = 'missing.txt' is neither a file nor a Python module"),
        ("pydoc_data.topics", "wrods", "`tokenizer` = 'wrods' is neither words"),
    ],
)
def test_what_is_not_there_is_named(text, tokenizer, sentence):
    with pytest.raises(FileNotFoundError, match=sentence):
        check_text(text, tokenizer, **SIZES)
