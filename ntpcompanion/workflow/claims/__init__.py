"""Claims of the papers as data, the numbers measured for them, and verdicts.

- `claims`: `book/claims.yml`, or `book/claims/NAME.yml`; the results of a paper by their names
- `verdict`: judged claims, the rows of every page, check and file; Student's interval of a mean,
  and Welch's test between two
- `expectation`: what a claim expects of its number: one predicate, as inequalities that an interval
  decides
- `measurement`: one measured number with its standard error
- `measure`: how a notebook states a number
- `formatting`: numbers and texts as pages show them
"""
