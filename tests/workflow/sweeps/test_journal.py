import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.workflow.base.files import checksum
from ntpcompanion.workflow.sweeps.journal import append, appended, read_journal


def lines(*numbers):
    made = {"seconds": 0.1, "read": {}, "hardware": {}}
    found = [{"key": str(n), "parameters": {"n": n}, "result": n, **made} for n in numbers]
    return [{**line, "checksum": checksum(line)} for line in found]


@given(kept=st.integers(0, 80))
def test_a_kill_at_any_byte_loses_the_last_line_only(tmp_path_factory, kept):
    path = tmp_path_factory.mktemp("journal") / "deep" / "journal.jsonl"
    assert list(read_journal(path)) == []
    with appended(path) as journal:
        append(journal, *lines(1))
        whole = path.stat().st_size
        append(journal, *lines(2))
    os.truncate(path, min(whole + kept, path.stat().st_size))
    with appended(path) as journal:
        append(journal, *lines(3))
    found = list(read_journal(path))
    assert found in (lines(1, 3), lines(1, 2, 3))


@pytest.mark.parametrize("bad", ["[3]", '{"parameters": {}}', "{" * 10_000, "\\udc80", "NaN"])
def test_what_is_no_line_is_left_out(tmp_path, bad):
    path = tmp_path / "journal.jsonl"
    path.write_text(f"{bad}\n")
    with appended(path) as journal:
        append(journal, *lines(1))
    assert list(read_journal(path)) == lines(1)
