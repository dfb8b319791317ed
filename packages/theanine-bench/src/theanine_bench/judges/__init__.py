"""Judges: metrics that ask a model, each with a prompt, a reply schema and scores."""
