"""Readers of labelled conversations, from a path."""
