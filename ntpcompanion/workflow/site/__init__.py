"""From executed notebooks to the pages of the book."""
