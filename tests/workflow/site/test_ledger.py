from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.site.ledger import ledger_page, status_page
from tests.toy import write_claims
from tests.workflow.claims.test_baselines import result

MACHINE = {
    "processor": "a processor",
    "cores": 2,
    "memory_gib": 24,
    "system": "Linux",
    "machine": "x86_64",
}


def page(toy, **values):
    made = result("coin", **values)
    made.hardware.update(MACHINE)
    return ledger_page(
        load_claims(toy.project),
        {"coin": made} if values else {},
        find_notebooks(toy.project),
        "book",
    )


def test_counts_and_rows(toy):
    text = page(toy, toy_half=0.5, toy_powers=[2.0, 1.0])
    assert all(
        sum(map(int, line.split()[1:])) == 100
        for line in text.splitlines()
        if line.startswith(":widths:")
    )
    assert text.startswith("**3 claims** at profile *book*:")
    assert "* - Whose claim\n  - supported\n  - refuted\n  - not measured\n" in text
    assert "* - the paper states it (*stated*)\n  - 1\n  - 1\n  - 1\n" in text
    assert (
        '<a href="chapters/coin.html#claim-toy_half">Theorem 1</a> {cite:p}`liu2023same`. One half '
        "is $1/2$&#46;" in text
    )
    assert "0&#46;5<br><small>book, a processor, 2 cores</small>" in text


def test_nothing_measured_is_said(toy):
    assert "* - the paper states it (*stated*)\n  - 3\n* - one reading" in page(toy)


def test_no_cell_starts_a_quotation_or_a_list(toy):
    write_claims(toy.project, expect={"book": {"sign": "positive"}})
    assert "  - &gt; 0\n" in page(toy, toy_half=0.5)


def test_status_lists_what_was_run_and_what_was_not(toy):
    made = result("coin", toy_half=0.5)
    made.hardware.update(MACHINE)
    made.versions.update({"python": "3.11.7", "numpy": "2.4.6"})
    text = status_page({"coin": made}, find_notebooks(toy.project), "book")
    assert "  - 2026-01-01 00:00\n  - 1.0\n  - 0 MiB\n  - `k`\n" in text
    widths = [
        sum(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith(":widths:")
    ]
    assert widths == [100, 100]
    assert "not run" in text
    assert "numpy" in text
    other = result("words", toy_words=3.0)
    other.hardware.update({**MACHINE, "processor": "another one"})
    other.versions.update(made.versions)
    both = status_page({"coin": made, "words": other}, find_notebooks(toy.project), "book")
    assert "Made on a processor, 2 cores, 24 GiB, Linux x86_64: A coin\n" in both
    assert "Made on another one, 2 cores, 24 GiB, Linux x86_64: Words\n" in both
