"""Chapters: present text joined with stored outputs, and what a page offers besides.

- `pages`: present text joined with stored outputs
- `code_folds`: which code a page shows, and where
- `templating`: views as HTML and MyST, by the templates of the folder `templates`
- `cards`: what a card and the banner of a record show
- `strips`: of many cards together, the first few
- `widgets`: scripts and style for pages with interactive figures
- `figures`: the SVGs of a notebook as part of its page
- `ending`: the command, parameters, files and citation at the end of a chapter
- `downloads`: the files that a chapter offers
- `citation`: BibTeX of a chapter and of a claim
- `numbering`: the paper's numbers of statements, beside those of the book; formulas in lines
- `symbols`: meanings of symbols, where they stand
- `chapter_files`: a stored run as a chapter
"""
