from ntpcompanion.workflow import render


def test_a_page_that_was_removed_leaves_the_site(tmp_path):
    for name in ("chapters/kept", "chapters/gone"):
        for path in (tmp_path / f"{name}.html", tmp_path / "_sources" / f"{name}.ipynb"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    for name in ("search.html", "an-index-of-old.html", "_static/part.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    render.drop_removed_pages(tmp_path, ["chapters/kept"])
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["_sources/chapters/kept.ipynb", "_static/part.html", "chapters/kept.html", "search.html"]
