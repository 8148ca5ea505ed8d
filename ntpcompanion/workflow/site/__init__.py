"""From executed notebooks to the pages of the book.

- `build_site`: the whole of it: pages, ledger, status, rendering, checks
- `unchanged`: whether sources changed during a build, or there is nothing to do
- `render`: Jupyter Book called, small faults in its markup fixed, and its site put in place
- `marks`: whether a site shows what it should; what on a page shows a verdict, read as a browser
  reads it
- `look`: the styles and scripts of `assets` on every page
- `experiment_fields`: plans and results of experiments on their API page, field by field
- `sphinx_extension`: the paper's numbers on pages, and what these were read from
"""
