"""Segment a session by topic without a language model."""

from theanine_methods.segmentation.local import (
    SegmentWeights,
    load_weights,
    segment_locally,
    with_expected_length,
)
from theanine_methods.segmentation.segments import (
    Span,
    check_tiling,
    exchange_starts,
    exchanges,
    fixed_length_spans,
    lengths_of,
    spans_between,
    spans_of,
    tiling_fault,
)

__all__ = [
    "SegmentWeights",
    "Span",
    "check_tiling",
    "exchange_starts",
    "exchanges",
    "fixed_length_spans",
    "lengths_of",
    "load_weights",
    "segment_locally",
    "spans_between",
    "spans_of",
    "tiling_fault",
    "with_expected_length",
]
