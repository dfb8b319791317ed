"""Measures, as pure functions. A measure over nothing is an error, never 0."""
