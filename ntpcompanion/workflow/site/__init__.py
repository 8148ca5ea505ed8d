"""From executed notebooks to the pages of the book.

- `build`: the whole of it: pages, ledger, status, rendering, checks
- `pages`: present text joined with stored outputs
- `code_folds`: which code a page shows, and where
- `cards`: a claim as a line of HTML that opens
- `strips`: of many cards together, the first few
- `widgets`: scripts and style for pages with interactive figures
- `figures`: the SVGs of a notebook as part of its page
- `ending`: the command, parameters, files and citation at the end of a chapter
- `downloads`: the files that a chapter offers
- `citation`: BibTeX of a chapter and of a claim
- `commits`: which commit holds the source of a page
- `previews`: definitions and theorems for who points at a reference
- `numbering`: the paper's numbers of statements, beside those of the book
- `formulas`: formulas keep their punctuation
- `symbols`: meanings of symbols, where they stand
- `ledger`: the tables of all claims and of all runs
- `render`: Jupyter Book called, and its site checked
- `security`: the policy of each page: what ships may run, nothing else
- `pdf`: the whole book as one PDF
- `release`: archive, ledger and metadata for a release
- `sphinx_extension`: Sphinx decides by content, not by date, which pages it reads again
- `plain_sphinx`: the same book without Jupyter Book
- `server`: the site over HTTP on this machine
"""
