"""The pages on results: ledger, statements, status, and their data.

- `generated`: what a build writes beside the chapters
- `views`: what these pages are made from
- `landing`: map of the book, and findings with picture and number
- `ledger`: the page of all claims, and the same as JSON and as a table
- `references`: names of papers
- `status`: the tables of all runs and records
- `stated_results`: definitions and theorems, what the papers state, and what they leave open
"""
