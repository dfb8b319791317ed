"""Runs of an evaluation: resumable, journalled, in a folder of their own."""
