import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.languages.corpus import read_text
from ntpcompanion.languages.words import UNKNOWN, count_unspaced, encode, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat, the CAT.", ["the", "cat", "the", "cat"]),
        ("doesn't don’t 'quoted'", ["doesn't", "don’t", "quoted"]),
        ("x_1 = 3.5; Größe", ["x_1", "3", "5", "größe"]),
        ("*** ...", []),
    ],
)
def test_words_are_runs_of_letters_digits_and_underscores(text, words):
    assert split_words(text) == words


# words of scripts without marks and with spaces: what `re` calls a run of letters and digits
PLAIN = re.compile(r"\w+(?:['’]\w+)*")


def test_the_default_text_is_split_as_by_plain_letters():
    """Every number of the book that depends on a text was measured on these words."""
    content = read_text("pydoc_data.topics").content
    assert split_words(content) == PLAIN.findall(content.lower())


LATIN = st.characters(
    max_codepoint=0x24F,
    exclude_categories=["Cf"],
    exclude_characters="İ·",  # in lower case it has a mark; it joins words of Catalan
)


@given(st.text(LATIN))
def test_latin_text_is_split_as_by_plain_letters(text):
    assert split_words(text) == PLAIN.findall(unicodedata.normalize("NFC", text.lower()))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("السَّلَامُ عَلَيْكُم، كتاب", ["السَّلَامُ", "عَلَيْكُم", "كتاب"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("צה״ל", ["צה״ל"]),
        ("col·lecció", ["col·lecció"]),
        ("한국어 단어", ["한국어", "단어"]),
        ("中文，分词 hello", ["中", "文", "分", "词", "hello"]),
        ("カタカナとひらがな", ["カタカナ", "と", "ひ", "ら", "が", "な"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("ខ្ញុំ", ["ខ្", "ញុំ"]),
        ("\u0301 a", ["a"]),
    ],
)
def test_words_of_every_script(text, words):
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("été", "e\u0301te\u0301"),
        ("wörter", "wör\u00adter"),
        ("كتاب", "كتاب\u200f"),
        ("Å", "\u212b"),
    ],
)
def test_a_word_is_one_word_however_it_was_typed(one, other):
    assert split_words(one) == split_words(other)
    assert len(split_words(one)) == 1


def test_single_characters_of_scripts_without_spaces_are_counted():
    assert count_unspaced(split_words("中文 hello สวัสดี भाषा カタカナ 中x")) == 7


def test_the_most_frequent_words_are_kept_and_ties_go_to_the_alphabet():
    encoding = encode(["c", "b", "a", "c", "d"], 4)
    assert encoding.vocabulary == (UNKNOWN, "c", "a", "b")
    assert encoding.tokens.tolist() == [1, 3, 2, 1, 0]
    assert encoding.share_unknown == pytest.approx(0.2)


@given(st.lists(st.sampled_from("abcdef"), min_size=1), st.data())
def test_known_words_can_be_read_back(words, data):
    size = data.draw(st.integers(2, len(set(words)) + 1))
    encoding = encode(words, size)
    kept = set(encoding.vocabulary[1:])
    assert len(encoding.vocabulary) == size
    assert [encoding.vocabulary[token] for token in encoding.tokens] == [
        word if word in kept else UNKNOWN for word in words
    ]


@pytest.mark.parametrize("size", [1, 5])
def test_a_vocabulary_that_does_not_fit_is_refused(size):
    with pytest.raises(
        ValueError,
        match=rf"`vocab_size` must lie in 2 … 4 \(the text has 3 distinct words\), got {size}",
    ):
        encode(["a", "b", "c"], size)


def test_a_text_without_words_is_refused():
    with pytest.raises(ValueError, match="`words` is empty"):
        encode([], 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("a text", r"`words` must be a list of words, got a text\. Use split_text"),
        (["a", 3], r"`words` must hold strings, got 3\."),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_was_not_split_is_refused(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        encode(words, 2)
