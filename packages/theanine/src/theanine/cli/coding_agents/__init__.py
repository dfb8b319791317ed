"""Coding agents: their configuration, hooks and transcripts."""
