"""What stands on the pages of the book.

- `chapter_pages`: a stored run as a chapter: present text joined with stored outputs
- `folds`: which code and which cards a page shows at first
- `templating`: views as HTML and MyST, by the templates of the folder `templates`
- `cards`: what a card, the banner of a record and the end of a chapter show
- `figures`: the SVGs of a notebook, and interactive figures, as part of its page
- `numbering`: the paper's numbers of statements, beside those of the book; formulas in lines
- `generated`: what a build writes beside the chapters, and the tables of all runs and records
- `views`: what these pages are made from, with names of papers
- `landing`: map of the book, and findings with picture and number
- `ledger`: the page of all claims, and the same as JSON and as a table
- `stated_results`: definitions and theorems, what the papers state, and what they leave open
"""
