import pytest
import yaml
from pydantic import ValidationError

from ntpcompanion.workflow.claims.claims import load_claims, paper_result, result_order
from tests.refusing import refused
from tests.toy import write_claims


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": None}, r"toy.half: source: Field required"),
        ({"source": " "}, r"toy.half: source: String should have at least 3 characters"),
        ({"short": "x" * 111}, r"toy.half: short: String should have at most 110 characters"),
        ({"quantity": "x" * 46}, r"toy.half: quantity: String should have at most 45 characters"),
        ({"notebook": "dice"}, r"toy.half: notebook: there is no notebooks/dice.md"),
        ({"id": "toy.words"}, r"toy.words: the id is used twice"),
        ({"id": "Toy half"}, r"String should match pattern"),
        ({"expect": {}}, r"toy.half: : Value error, needs either `expect`.* or `exploratory`"),
        (
            {"exploratory": "one seed"},
            r"needs either `expect`, by which it is judged, or `exploratory`",
        ),
        (
            {"kind": "fact"},
            r"toy.half: kind: Input should be 'stated', 'reading', 'slip' or 'ours'",
        ),
        ({"basis": "memory"}, r"toy.half: basis: Input should be 'text'"),
        ({"scope": "larger"}, r"toy.half: scope: Input should be 'same', 'smaller' or 'text'"),
        ({"expect": {"bock": {"at_least": 1}}}, r"toy.half: expect.bock"),
        ({"band": {"relative": 2.0}}, r"toy.half: band.relative"),
        ({"verdict": "supported"}, r"toy.half: verdict: Extra inputs are not permitted"),
    ],
)
def test_faults_of_the_claims_file(toy, changes, words):
    write_claims(toy.project, **changes)
    with refused(words):
        load_claims(toy.project)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a: 1", r"must be a list of items"), ("- [", r"cannot be read"), ("- 5", r"item 1")],
)
def test_a_claims_file_that_is_none(toy, text, words):
    toy.project.claims.write_text(text)
    with refused(words):
        load_claims(toy.project)


def test_claims_of_a_larger_book_have_a_file_for_each_chapter(toy):
    expected = load_claims(toy.project)
    items = yaml.safe_load(toy.project.claims.read_text())
    folder = toy.project.claims.with_suffix("")
    folder.mkdir()
    for item in items:
        with (folder / f"{item['notebook']}.yml").open("a") as file:
            file.write(yaml.safe_dump([item]))
    with refused(r"claims.coin\.yml:\n  toy.half: .* used twice"):
        load_claims(toy.project)
    toy.project.claims.unlink()
    assert load_claims(toy.project) == expected


def test_what_an_editor_or_a_system_leaves_beside_the_claims_is_not_read(toy):
    (toy.project.book / "claims").mkdir()
    toy.project.claims.rename(toy.project.book / "claims" / "toy.yml")
    for name in (".#toy.yml", "._toy.yml"):
        (toy.project.book / "claims" / name).write_bytes(b"\0")
    assert [path.name for path in toy.project.claim_files] == ["toy.yml"]


def test_nothing_that_judges_a_claim_can_change_it(toy):
    claim = load_claims(toy.project)["toy.half"]
    with pytest.raises(ValidationError, match="Instance is frozen"):
        claim.expected_verdict = "refuted"


@pytest.mark.parametrize(
    ("locator", "found"),
    [
        ("Theorem 2, direction", "Theorem 2"),
        ("about Fig. 3, the loss during SGD", "Figure 3"),
        ("Fig. 3: accuracy per e-fold", "Figure 3"),
        ("Figures 3 to 5, finite part", "Figure 3"),
        ("Equation (4) and Lemma 1, number of solutions", "Equation 4"),
        ("Equations 4 and 6", "Equation 4"),
        ("Section 3.3, lookup table (Table 1, task B)", "Section 3.3"),
        ("Lemma D.4, as printed", "Lemma D.4"),
        ("Section 4 and AdamW, batch size", "Section 4"),
    ],
)
def test_the_result_that_a_locator_begins_with(locator, found):
    assert paper_result(locator) == found


def test_results_are_ordered_by_sort_and_number():
    names = [
        "Section 2",
        "Lemma D.1",
        "Lemma 10",
        "Theorem 1",
        "Lemma 2",
        "Equation 4",
        "Elsewhere",
    ]
    assert sorted(names, key=result_order) == [
        "Equation 4", "Lemma 2", "Lemma 10", "Lemma D.1", "Theorem 1", "Section 2", "Elsewhere",
    ]  # fmt: skip
