"""The pages on results: ledger, statements, status, and their data.

- `generated`: what a build writes beside the chapters, and the tables of all runs and records
- `views`: what these pages are made from, with names of papers
- `landing`: map of the book, and findings with picture and number
- `ledger`: the page of all claims, and the same as JSON and as a table
- `stated_results`: definitions and theorems, what the papers state, and what they leave open
"""
