"""References from a page that is rendered alone to the pages of the built book.

A rendering of the book keeps its labels (`labels_of`) beside what Sphinx has read. As a Sphinx
extension this module gives them to a page that stands alone: a label of another chapter becomes a
link with the title or number that the book shows; one that the book does not know stays text.
"""

import json
from pathlib import Path
from typing import Any

LABELS = "labels.json"
# from a chapter of a view, _build/views/NAME/html/chapters, to the book
BOOK = "../../../../html/"

Labels = dict[str, tuple[str, str, str]]  # page, anchor and text, by kind and name


def labels_of(env: Any) -> Labels:
    """What other pages can refer to, from Sphinx's environment of the whole book."""
    data = env.domaindata
    labels: Labels = {}
    for name, (page, anchor, title) in data["std"]["labels"].items():
        labels[f"ref {name}"] = (page, anchor, str(title))  # of Sphinx, a lazy translation
    for name, (page, anchor) in data["std"]["anonlabels"].items():
        labels[f"doc {name}"] = (page, anchor, name)
        if number := _number(env, page, "figure", anchor):
            labels[f"numref {name}"] = (page, anchor, f"Fig. {number}")
    for name, (page, number) in data["math"]["objects"].items():
        labels[f"eq {name}"] = (page, f"equation-{name.replace('_', '-').lower()}", f"({number})")
    for name, item in getattr(env, "proof_list", {}).items():
        number = _number(env, item["docname"], item["countertype"], name)
        labels[f"prf {name}"] = (item["docname"], name, f"{item['realtype'].title()} {number}")
    for name, entry in data["py"]["objects"].items():
        labels[f"py {name}"] = (entry.docname, entry.node_id, name)
    return labels


def _number(env: Any, page: str, kind: str, anchor: str) -> str:
    numbers = env.toc_fignumbers.get(page, {}).get(kind, {}).get(anchor, ())
    return ".".join(map(str, numbers))


# `app`, `env` and nodes are objects of Sphinx and docutils, whose classes no command of ours waits
# to import
def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("missing-reference", lambda app, env, node, text: _link(app, node, text))
    # before the resolver: sphinx-proof and MyST complain themselves of what they do not know
    app.connect("doctree-read", _of_other_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _of_other_pages(app: Any, tree: Any) -> None:
    from sphinx.addnodes import pending_xref

    local = {"prf": getattr(app.env, "proof_list", {}), "doc": app.env.found_docs}
    for node in list(tree.findall(pending_xref)):
        domain = node["refdomain"]
        if domain in local and node["reftarget"] not in local[domain]:
            node.replace_self(_link(app, node, node[0]))


def _link(app: Any, node: Any, text: Any) -> Any:
    from docutils import nodes  # type: ignore[import-untyped]  # docutils has no types

    kind = {"std": node["reftype"], "math": "eq", "": "ref"}.get(node["refdomain"])
    name = node["reftarget"]
    known = _known(Path(app.srcdir) / LABELS)
    entry = known.get(f"{kind or node['refdomain']} {name}") or known.get(f"doc {name}")
    shown = text.astext()
    if node["refdomain"] == "doc":  # a link to the file of a page, as MyST writes it
        entry = [name, "", shown] if any(page == name for page, *_ in known.values()) else None
    if entry is None:
        return nodes.inline("", shown)
    page, anchor, title = entry
    if not node.get("refexplicit") and node["refdomain"] != "py":
        shown = title
    return nodes.reference("", shown, refuri=f"{BOOK}{page}.html#{anchor}".removesuffix("#"))


def _known(path: Path) -> dict[str, list[str]]:
    known: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return known
