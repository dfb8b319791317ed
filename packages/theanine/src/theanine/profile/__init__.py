"""What is known of a person, from their own words: what holds, what changed, who comes up.

Made from the log whenever it is asked for, with a language model only if wanted: what is corrected
or forgotten counts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.profile.build import find_profile
    from theanine.profile.profile import (
        AREAS,
        BUDGET,
        Entity,
        Profile,
        ProfileChange,
        ProfileLine,
        Quote,
    )
    from theanine.profile.write import PROFILE, write_profile

__all__ = [
    "AREAS",
    "BUDGET",
    "PROFILE",
    "Entity",
    "Profile",
    "ProfileChange",
    "ProfileLine",
    "Quote",
    "find_profile",
    "write_profile",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "build": "find_profile",
        "profile": "AREAS BUDGET Entity Profile ProfileChange ProfileLine Quote",
        "write": "PROFILE write_profile",
    },
)
