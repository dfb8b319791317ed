"""Scripted answers to the prompts of the judges and of TeaFarm, for `theanine.testing`."""

from theanine_bench.testing import judges, teafarm

STEPS = {**judges.STEPS, **teafarm.STEPS}
"""Step name → writer of its answer; found through the group `theanine.scripted_answers`."""

__all__ = ["STEPS"]
