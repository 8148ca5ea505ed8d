"""From a notebook to a claim, a verdict and a page. Knows no mathematics.

The way of a number through eight modules:

1. `claims.measure`: a cell calls `measure`, which displays a `Measurement` as an output of its own
   type
2. `running.execute`: has the notebook run (`papermill_run`) and stores two files or none:
   `NAME.ipynb` with all outputs and `NAME.json` with what was measured, both in `book/chapters` at
   profile book, in `_build/runs/PROFILE` at any other
3. `running.results`: collects the measurements of the outputs; the second file, which has a
   checksum and a digest of the first
4. `running.runs`: where these files are; reads them, and rejects what does not answer for the
   present sources (`freshness`) or does not agree
5. `site.build_site`: has all claims judged, writes a notebook for each page, and has Jupyter Book
   make HTML of it (`render`)
6. `claims.verdict`: the verdict, from the interval of the number and what its claim expects
   (`expectation`)
7. `pages.chapter_pages`: puts a card in the place of the output
8. `pages.cards`: what a card shows, filled into `pages/templates/card.html`

A verdict is computed at each build, and no run stores one. At profile book the notebook of a page
takes the place of the first file: it keeps all outputs as the run made them.
"""

from ntpcompanion.lazy_names import attach_public_names

__getattr__, __dir__, __all__ = attach_public_names(__name__, __file__, extra="workflow")
