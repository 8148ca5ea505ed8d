import re
import unicodedata

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.words import UNKNOWN, count_unspaced, encode, split_words


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
    exclude_categories=["Cf", "No"],  # UAX 29 has a boundary between x and ²
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
        ('צה"ל "של"', ['צה"ל', "של"]),
        ("ג'ירפה וג' 'שלום'", ["ג'ירפה", "וג'", "שלום'"]),
        ("don\u2018t don\uff07t \u2018so\u2019", ["don\u2018t", "don\uff07t", "so"]),
        ("ինչ՞պես, Հայ՟եր։ ա՛յ", ["ինչ՞պես", "հայ՟եր", "ա՛յ"]),
        ("a\u200db ab\u2060c", ["a\u200db", "abc"]),
        ("Aカタカナ カナx_カナ ｶﾞ1", ["a", "カタカナ", "カナ", "x_カナ", "ｶﾞ", "1"]),
        ("3.5;4,5 a:b a：b 1’000 2’s x__'y", "3 5 4 5 a b a b 1’000 2’s x__'y".split()),
        ("été\u202f! 10\u202f000 ₂x²", ["été", "10", "000", "₂", "x", "²"]),
        ("α\u0387β ⓐⓑ ‿x", ["α·β", "ⓐⓑ", "‿x"]),
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


# Of UAX 29, in which every pair of characters has a boundary but these: what stands before it and
# after it, by the letters below.
VALUES = {
    "L": "ALetter",
    "H": "Hebrew_Letter",
    "N": "Numeric",
    "K": "Katakana",
    "E": "ExtendNumLet",
    "M": "MidLetter",
    "Q": "MidNumLet",
    "S": "Single_Quote",
    "D": "Double_Quote",
    "X": "Extend",
    "Z": "ZWJ",
}
JOINED = [
    *[("[LH]", "[LH]"), ("[LH]", "[MQS][LH]"), ("[LH][MQS]", "[LH]")],
    *[("H", "S"), ("H", "DH"), ("HD", "H"), ("K", "K"), ("[LHNKE]", "E"), ("E", "[LHNK]")],
    *[("[LHN]", "N"), ("N", "[LH]"), ("N[QS]", "N"), ("N", "[QS]N")],
]
KINDS = [(letter, regex.compile(rf"\p{{Word_Break={name}}}")) for letter, name in VALUES.items()]

# signs that Unicode counts among the letters here, like that of an Armenian question, included
WORDS = regex.compile(r"[\p{L}\p{N}\p{WB=ALetter}\p{WB=ExtendNumLet}]")


def between_boundaries(text):
    kinds = [next((kind for kind, of in KINDS if of.match(sign)), "o") for sign in text]
    base = [i for i, kind in enumerate(kinds) if kind not in "XZ" or i == 0]
    line = "".join(kinds[i] for i in base)
    starts = [base[0]] + [
        base[i]
        for i in range(1, len(base))
        if not any(
            re.search(f"(?:{before})$", line[:i]) and re.match(after, line[i:])
            for before, after in JOINED
        )
    ]
    return [text[i:j] for i, j in zip(starts, [*starts[1:], len(text)], strict=True)]


SIGNS = "aéxא1カ_\u0301\u200c\u200d'\"’‘＇·‧\u05f3\u05f4՟՞ 中ゝ한ส\u0e31²ⓐ˂\u0387"


@given(st.text(st.sampled_from(SIGNS), min_size=1, max_size=8))
def test_words_lie_between_the_boundaries_of_uax_29(text):
    text = unicodedata.normalize("NFC", text)
    # an exception of ours
    assume(
        not regex.search(
            r"[\d_]\p{WB=Extend}*\u200d*['‘’＇]|['‘’＇][\p{M}\u200c\u200d]*[\d_]", text
        )
    )
    words = [part for part in between_boundaries(text) if WORDS.match(part)]
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
        ("a text", "`words`"),
        (["a", 3], r"`words` must hold strings, got 3\."),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_was_not_split_is_refused(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        encode(words, 2)


def test_the_word_for_unknown_words_is_unknown():
    encoding = encode(["<unk>", "a", "<unk>", "b", "<unk>", "a"], 3)
    assert encoding.vocabulary == (UNKNOWN, "a", "b")
    assert encoding.tokens.tolist() == [0, 1, 0, 2, 0, 1]
    assert encoding.share_unknown == 0.5
    with pytest.raises(ValueError, match=r"must lie in 2 … 3 \(the text has 2 distinct words\)"):
        encode(["<unk>", "a", "b"], 4)
    with pytest.raises(ValueError, match="`words`"):
        encode(["<unk>"], 2)
