"""What every part of the workflow stands on: the checkout, its files, processes, provenance and
errors. Imports nothing of the rest.
"""
