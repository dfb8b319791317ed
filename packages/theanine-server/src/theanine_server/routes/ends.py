"""The own end of what a request logs."""

from __future__ import annotations

from pydantic import BaseModel, Field

from theanine_server.routes.recall import Moment


class WithEnds(BaseModel, extra="forbid"):
    """What can end by itself."""

    expires: Moment | None = Field(
        default=None, description="From then on it is not shown any more, and soon erased."
    )
    verify_by: Moment | None = Field(
        default=None, description="From then on it is marked as to be verified."
    )
