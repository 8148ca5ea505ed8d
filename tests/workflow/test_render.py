from ntpcompanion.workflow import render


def test_a_page_that_was_removed_leaves_the_site(tmp_path):
    for name in ("chapters/kept", "chapters/gone"):
        for path in (tmp_path / f"{name}.html", tmp_path / "_sources" / f"{name}.ipynb"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    (tmp_path / "search.html").write_text("x")
    render.drop_removed_pages(tmp_path, ["chapters/kept"])
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["_sources/chapters/kept.ipynb", "chapters/kept.html", "search.html"]
