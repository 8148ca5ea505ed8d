from ntpcompanion.workflow.site.previews import boxes, write_previews

PAGE = """<html><div class="section"><div class="proof definition admonition" id="def-a">
<p class="admonition-title"><span>Definition 1</span></p><div class="inner" id="x">
Let <a class="reference" href="b.html#c">it</a> be.</div></div><p>After.</p>
<div class="proof theorem admonition" id="thm-b">B</div><div class="admonition" id="note">No</div>
</div></html>"""


def test_boxes_are_whole_and_lead_nowhere():
    found = boxes(PAGE)
    assert set(found) == {"def-a", "thm-b"}
    assert found["thm-b"] == "B"
    assert found["def-a"].startswith('<p class="admonition-title"><span>Definition 1</span></p>')
    assert found["def-a"].endswith("be.</div>")
    assert "<a" not in found["def-a"]
    assert "id=" not in found["def-a"]


def test_one_script_holds_those_of_all_pages(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "a.html").write_text(PAGE)
    (tmp_path / "plain.html").write_text("<html></html>")
    write_previews(tmp_path)
    script = (tmp_path / "_static" / "previews.js").read_text()
    assert script.startswith('window.ntpPreviews = {"chapters/a.html#def-a": "<p class=')
    assert '"chapters/a.html#thm-b": "B"};' in script
