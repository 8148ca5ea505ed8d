"""One hash over the contents of many files."""

from collections.abc import Iterable
from pathlib import Path

from ntpcompanion.workflow.base.files import canonical_json, files_below, hash_of, sha256


def digest_of(paths: Iterable[Path]) -> str:
    """One hash over files and over all files of folders, with their names; what is missing does not
    count.
    """
    files = sorted(
        {
            file
            for path in paths
            for file in (files_below(path) if path.is_dir() else [path])
            if file.is_file()
        }
    )
    return sha256(canonical_json([[str(file), hash_of(file)] for file in files]))
