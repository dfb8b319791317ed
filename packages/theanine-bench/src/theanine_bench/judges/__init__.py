"""Judges: questions to a judging model, each with its prompt, its schema and what it counts."""
