"""Labels of the book, and links of a page that stands alone."""

import json
from types import SimpleNamespace

import pytest
from docutils import nodes
from sphinx.addnodes import pending_xref

from ntpcompanion.workflow.chapters.outside_links import (
    BOOK,
    LABELS,
    _link,
    _of_other_pages,
    labels_of,
)


class Translated:
    """As the titles of pages that Sphinx makes itself."""

    def __str__(self):
        return "Index"


@pytest.fixture
def book():
    data = {
        "std": {
            "labels": {
                "adam": ("chapters/adam", "adam", "Adam"),
                "i": ("genindex", "", Translated()),
            },
            "anonlabels": {
                "adam": ("chapters/adam", "adam"),
                "fig-x": ("chapters/adam", "fig-x"),
                "plain": ("chapters/adam", "plain"),
            },
        },
        "math": {"objects": {"eq_one": ("chapters/adam", 4)}},
        "py": {"objects": {"pkg.f": SimpleNamespace(docname="api", node_id="pkg.f")}},
    }
    numbers = {"figure": {"fig-x": (3,)}, "theorem": {"thm-a": (7,)}}
    statement = {"docname": "chapters/adam", "countertype": "theorem", "realtype": "lemma"}
    return SimpleNamespace(
        domaindata=data,
        toc_fignumbers={"chapters/adam": numbers},
        proof_list={"thm-a": statement},
    )


@pytest.fixture
def app(book, tmp_path):
    (tmp_path / LABELS).write_text(json.dumps(labels_of(book)))
    return SimpleNamespace(
        srcdir=tmp_path, env=SimpleNamespace(proof_list={"own": {}}, found_docs={"own"})
    )


def reference(domain, kind, name, text, explicit=False):
    node = pending_xref(
        "", nodes.inline("", text), refdomain=domain, reftype=kind, reftarget=name,
        refexplicit=explicit,
    )  # fmt: skip
    return node


@pytest.mark.parametrize(
    ("given", "text", "target"),
    [
        (("std", "ref", "adam", "adam"), "Adam", "chapters/adam.html#adam"),
        (("std", "ref", "adam", "that chapter", True), "that chapter", "chapters/adam.html#adam"),
        (("std", "numref", "fig-x", "fig-x"), "Fig. 3", "chapters/adam.html#fig-x"),
        (("math", "eq", "eq_one", "eq_one"), "(4)", "chapters/adam.html#equation-eq-one"),
        (("prf", "ref", "thm-a", "thm-a"), "Lemma 7", "chapters/adam.html#thm-a"),
        (("py", "func", "pkg.f", "f()"), "f()", "api.html#pkg.f"),
        (("", "myst", "adam", "Adam"), "Adam", "chapters/adam.html#adam"),
        (("std", "ref", "plain", "words", True), "words", "chapters/adam.html#plain"),
    ],
)
def test_a_label_of_the_book_is_a_link_with_its_title_or_number(app, given, text, target):
    node = reference(*given)
    link = _link(app, node, node[0])
    assert (link.astext(), link["refuri"]) == (text, BOOK + target)


def test_a_label_that_nobody_knows_is_text(app):
    node = reference("std", "ref", "nowhere", "nowhere")
    shown = _link(app, node, node[0])
    assert isinstance(shown, nodes.inline)
    assert shown.astext() == "nowhere"


def test_a_link_to_the_file_of_a_page_leads_to_the_book_or_is_text(app):
    tree = nodes.section()
    for page in ("own", "chapters/adam", "notation"):
        tree += reference("doc", "myst", page, "that page", explicit=True)
    _of_other_pages(app, tree)
    own, book, nowhere = tree
    assert isinstance(own, pending_xref)
    assert (book.astext(), book["refuri"]) == ("that page", f"{BOOK}chapters/adam.html")
    assert isinstance(nowhere, nodes.inline)
    assert nowhere.astext() == "that page"


def test_only_statements_of_other_pages_are_taken_from_sphinx_proof(app):
    tree = nodes.section()
    for name in ("own", "thm-a"):
        tree += reference("prf", "ref", name, name)
    tree += reference("std", "ref", "adam", "adam")
    _of_other_pages(app, tree)
    assert [type(node) for node in tree] == [pending_xref, nodes.reference, pending_xref]
