"""From executed notebooks to the pages of the book.

- `build`: the whole of it: pages, ledger, status, rendering, checks
- `pages`: present text joined with stored outputs
- `code_folds`: which code a page shows, and where
- `cards`: a claim as a line of HTML that opens
- `strips`: of many cards together, the first few
- `widgets`: scripts and style for pages with interactive figures
- `ledger`: the tables of all claims and of all runs
- `render`: Jupyter Book called, and its site checked
- `sphinx_extension`: Sphinx decides by content, not by date, which pages it reads again
- `plain_sphinx`: the same book without Jupyter Book
- `server`: the site over HTTP on this machine
"""
