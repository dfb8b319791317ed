"""What is known of a person, from their own words: what holds, what changed, who comes up.

Computed from the log whenever it is asked for, without a language model: what is corrected or
forgotten counts at once.
"""

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

__all__ = [
    "AREAS",
    "BUDGET",
    "Entity",
    "Profile",
    "ProfileChange",
    "ProfileLine",
    "Quote",
    "find_profile",
]
