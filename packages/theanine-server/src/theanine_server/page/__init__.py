"""Serve the files of the page, and find what a person should review.

The page itself is in :mod:`theanine.page`, because ``theanine timeline --html`` writes it, too.
"""
