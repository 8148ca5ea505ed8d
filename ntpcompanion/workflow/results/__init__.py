"""The pages on results: ledger, statements, status, and their data.

- `generated`: what a build writes beside the chapters
- `landing`: map of the book, and findings with picture and number
- `ledger`: the page of all claims
- `exports`: the ledger as JSON and as a table
- `references`: names of papers
- `status`: the tables of all runs and records
- `theorems`: the index of definitions and theorems
- `paper_statements`: what the papers state, where it stands in the book, and the claims about it
- `open_questions`: what the papers leave open, what the book proves and measures about it
"""
