import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram, WordLevel, WordPiece
from tokenizers.pre_tokenizers import ByteLevel, Whitespace, WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer

from ntpcompanion.languages.text import segmentation
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.segmentation import split_text
from ntpcompanion.languages.text.words import encode, split_words


@pytest.fixture
def saved(tmp_path):
    """A tokenizer that knows two words, cuts after three tokens and adds a special one."""
    words = Tokenizer(WordLevel({"<unk>": 0, "the": 1, "cat": 2, "<s>": 3}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    words.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 3)])
    words.enable_truncation(3)
    words.enable_padding(length=9)
    path = tmp_path / "my tokenizer.json"
    words.save(str(path))
    return path


def test_words_are_the_default_and_say_so():
    found = split_text("The cat, the CAT.")
    assert (found.tokens, found.tokenizer) == (["the", "cat", "the", "cat"], "words")
    assert found.about == (
        "Tokens are words in lower case, by Unicode's rules for word boundaries (UAX 29), but full "
        "stops, commas, colons and semicolons always separate, and apostrophes also join digits."
    )


def test_a_script_without_spaces_is_said():
    about = split_text("中文分词 hello").about
    assert "80 % are single characters of a script that is written without spaces" in about
    assert "`characters`" in about
    assert "single characters" not in split_text("中文 " + "hello " * 98).about


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("Né à", list("Né à")),
        ("e\u0301", ["é"]),
        ("हिन्दी", regex.findall(r"\X", "हिन्दी")),
        ("", []),
    ],
)
def test_characters_are_what_a_reader_takes_for_one(text, characters):
    found = split_text(text, "characters")
    assert found.tokens == characters
    assert "characters of the text as they stand" in found.about


# `st.text` would first read the whole of Unicode, which takes longer than the test
CHARACTERS = (st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF)).map(chr)


@given(st.lists(CHARACTERS).map("".join))
def test_bytes_can_be_joined_again(text):
    tokens = split_text(text, "bytes").tokens
    joined = bytes(int(token, 16) if len(token) == 4 else ord(token) for token in tokens)
    assert joined.decode() == text


def test_a_tokenizer_file_is_read_without_its_limits_and_special_tokens(saved):
    found = split_text("the cat sat on the cat", str(saved))
    assert found.tokens == ["the", "cat", "<unk>", "<unk>", "the", "cat"]
    assert found.tokenizer == str(saved)
    assert (
        found.about == "Tokens are those of my tokenizer.json, a WordLevel tokenizer of 4 tokens."
    )


def test_a_tokenizer_of_bytes_loses_nothing(tmp_path):
    pairs = Tokenizer(BPE())
    pairs.pre_tokenizer = ByteLevel(add_prefix_space=False)
    alphabet = ByteLevel.alphabet()
    text = "The cat sits on the mat; 中文. " * 3
    pairs.train_from_iterator(
        [text], BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    pairs.save(str(path := tmp_path / "tokenizer.json"))
    found = split_text(text, str(path))
    assert len("".join(found.tokens)) == len(text.encode())
    assert len(encode(found.tokens, 10).tokens) == len(found.tokens)


NAME = "[UNK]"
PIECES = {"a": 0, "b": 1, NAME: 2}
SCORES = [("a", -1.0), ("b", -1.0), (NAME, -9.0)]
KNOWING = [
    WordLevel(PIECES, unk_token=NAME),
    WordPiece(PIECES, unk_token=NAME),
    BPE(PIECES, [], unk_token=NAME, fuse_unk=True),
    Unigram(SCORES, unk_id=2),
]


@pytest.fixture
def written(tmp_path):
    def write(model):
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = WhitespaceSplit()
        tokenizer.save(str(path := tmp_path / "mine.json"))
        return str(path)

    return write


@pytest.mark.parametrize("model", KNOWING, ids=lambda model: type(model).__name__)
def test_a_tokenizers_own_unknown_token_is_the_unknown_one(model, written):
    """Also where the text holds the word by which we or the tokenizer call it."""
    tokens = split_text("a xyz b a <unk> xyz", written(model)).tokens
    assert tokens == ["a", "<unk>", "b", "a", "<unk>", "<unk>"]
    encoding = encode(tokens, 3)
    assert encoding.vocabulary == ("<unk>", "a", "b")
    assert encoding.share_unknown == 0.5


def test_a_word_of_the_vocabulary_that_is_written_like_our_unknown_one(written):
    model = WordLevel({"<unk>": 0, "a": 1, NAME: 2}, unk_token=NAME)
    encoding = encode(split_text("a <unk> a x a", written(model)).tokens, 2)
    assert (encoding.vocabulary, encoding.tokens.tolist()) == (("<unk>", "a"), [1, 0, 1, 0, 1])


WITHOUT = [
    WordLevel({"a": 0, "b": 1}, unk_token=NAME),
    WordPiece({"a": 0, "b": 1}, unk_token=NAME),
    BPE({"a": 0, "b": 1}, [], unk_token=NAME),
    BPE({"a": 0, "b": 1}, []),  # leaves out what it does not know, without a word
    Unigram(SCORES[:2]),
]


@pytest.mark.parametrize("model", WITHOUT, ids=lambda model: type(model).__name__)
def test_a_word_without_a_token_is_named(model, written):
    path = written(model)
    assert split_text("a b", path).tokens == ["a", "b"]
    with pytest.raises(
        ValueError,
        match=r"^`tokenizer` = '.*mine\.json' has no token for 'aéb' of the text, and none",
    ):
        split_text("a b aéb xyz b", path)


def test_added_tokens_and_bytes_need_no_unknown_one(tmp_path):
    byte = {f"<0x{i:02X}>": i for i in range(256)} | {"a": 256}
    for model, text in ((BPE(byte, [], byte_fallback=True), "a é"), (BPE({"a": 0}, []), "a [x] a")):
        tokenizer = Tokenizer(model)
        tokenizer.add_tokens(["[x]"])
        tokenizer.pre_tokenizer = WhitespaceSplit()
        tokenizer.save(str(path := tmp_path / "bytes.json"))
        assert len(split_text(text, str(path)).tokens) == 3


def test_what_is_no_tokenizer_is_refused(tmp_path, saved, monkeypatch):
    with pytest.raises(
        FileNotFoundError, match=r"`tokenizer` = 'wrods' is neither words, characters, "
    ):
        split_text("a", "wrods")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(
        ValueError, match=r"other\.json' is not a tokenizer\.json of Hugging Face: "
    ):
        split_text("a", str(tmp_path / "other.json"))

    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(segmentation.importlib, "import_module", missing)
    with pytest.raises(
        ImportError, match=r"tokenizers, which is not installed\. Run `pip install .*opt"
    ):
        split_text("a", str(saved))


def test_the_first_tokens_are_those_of_the_whole_text():
    found = split_text("One two, THREE four.")
    assert found.first(3) == ["one", "two", "three"]
    assert found.first(4) == split_words("One two, THREE four.")
    for number in (0, 5):
        words = rf"`num_words` must lie in 1 … 4 .*, got {number}\."
        with pytest.raises(ValueError, match=words):
            found.first(number)


def test_the_default_text_in_every_unit():
    content = read_text("pydoc_data.topics").content
    assert "".join(split_text(content, "characters").tokens) == content
    assert len(split_text(content, "bytes").tokens) == len(content.encode())
