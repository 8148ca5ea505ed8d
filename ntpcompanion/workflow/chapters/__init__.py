"""Chapters: present text joined with stored outputs, and what a page offers besides.

- `pages`: a stored run as a chapter: present text joined with stored outputs
- `folds`: which code and which cards a page shows at first
- `templating`: views as HTML and MyST, by the templates of the folder `templates`
- `cards`: what a card, the banner of a record and the end of a chapter show
- `figures`: the SVGs of a notebook, and interactive figures, as part of its page
- `numbering`: the paper's numbers of statements, beside those of the book; formulas in lines
"""
