"""Intervals, paired comparisons, win rates and agreement of raters."""
