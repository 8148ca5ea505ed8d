from ntpcompanion.workflow.base.digests import digest_of


def test_a_digest_sees_names_and_contents_of_files_and_folders(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    seen = {digest_of([tmp_path])}
    (tmp_path / "deep" / "a").write_text("3")
    seen.add(digest_of([tmp_path]))
    (tmp_path / "deep" / "a").rename(tmp_path / "deep" / "c")
    seen.add(digest_of([tmp_path]))
    (tmp_path / "b").unlink()
    seen.add(digest_of([tmp_path]))
    assert len(seen) == 4
    assert digest_of([tmp_path / "deep", tmp_path / "missing"]) == digest_of(
        [tmp_path / "deep" / "c"]
    )
