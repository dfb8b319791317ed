"""Systems under test."""

from theanine_bench.targets.target import (
    ClientTarget,
    NullTarget,
    Output,
    Target,
    TargetContext,
    TargetFactory,
)

__all__ = ["ClientTarget", "NullTarget", "Output", "Target", "TargetContext", "TargetFactory"]
