import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.languages.corpus import Text
from ntpcompanion.languages.words import UNKNOWN, encode, first_words, split_words


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


def test_first_words_are_those_of_the_whole_text():
    text = Text("a file", "One two, THREE four.")
    assert first_words(text, 3) == ["one", "two", "three"]
    assert first_words(text, 4) == split_words(text.content)
    for number in (0, 5):
        words = rf"`num_words` must lie in 1 … 4, the words of a file, got {number}\."
        with pytest.raises(ValueError, match=words):
            first_words(text, number)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("a text", r"`words` must be a list of words, got a text\. Use split_words"),
        (["a", 3], r"`words` must hold strings, got 3\."),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_was_not_split_is_refused(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        encode(words, 2)
