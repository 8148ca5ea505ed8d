"""A Sphinx extension: the styles and scripts that the workflow's pages need, beside those of the
book. `_config.yml` lists this module among the extensions.
"""

from pathlib import Path
from typing import Any

ASSETS = Path(__file__).with_name("assets")
STYLES = ("type.css", "companion.css", "cards.css")
SCRIPTS = ("page.js", "formulas.js")
LATE = 800  # after those of the theme and of other extensions, as if `_config.yml` named them


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", _add_folder)
    for name in STYLES:
        app.add_css_file(name, priority=LATE)
    for name in SCRIPTS:
        app.add_js_file(name, priority=LATE, loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_folder(app: Any, config: Any) -> None:
    config.html_static_path = [str(ASSETS), *config.html_static_path]
