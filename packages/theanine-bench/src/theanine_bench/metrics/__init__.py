"""Metrics: one module each, found by its ``METRICS`` or ``find_metric``."""
