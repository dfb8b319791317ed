"""Measure memory: datasets, metrics, runs. What needs no language model runs on any machine."""
