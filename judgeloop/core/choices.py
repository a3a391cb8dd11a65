"""The choices by name that settings, catalogues and the engine share.

Holds nothing but names, so that the help of a command need not import the engine.
"""

import enum


class Order(enum.StrEnum):
    """How a comparison is shown to a judge."""

    BOTH = "both"  # a call in each order, the second if it matters; a tie if they disagree
    RANDOM = "random"  # one call; the order depends on the seed and the item's id
    FIXED = "fixed"  # one call, in the order given

    @property
    def draws_order(self) -> bool:
        """Whether the verdict is that of one order, drawn for each item."""
        return self is Order.RANDOM


class Vote(enum.StrEnum):
    """How a panel decides."""

    MAJORITY = "majority"  # the preference of more than half of the verdicts, else a tie
    MEAN = "mean"  # the mean of the scores
    UNANIMOUS = "unanimous"  # the preference of all verdicts, else a tie


class Population(enum.StrEnum):
    """The items that a decision is about."""

    THESE_ITEMS = "items"  # the items of the set, judged or not; nothing beyond them
    ITEMS_LIKE_THESE = "like-these"  # what the set is a random sample of


class Groups(enum.StrEnum):
    """What is done with the groups of items, each tested by itself."""

    REPORT = "report"
    REQUIRE = "require"  # in none may the second system be shown to be worse


class Draws(enum.IntEnum):
    """How a selector makes its choices, from the least to the most useful for statistics."""

    PICKED = 0  # without propensities: deterministic, so samples are biased
    KNOWN = 1  # at random, each choice with a known propensity
    EVEN = 2  # at random, all items not drawn yet with the same propensity


class Shown(enum.StrEnum):
    """Of which judged items a report shows prompt, outputs and reason."""

    ALL = "all"
    LOST = "lost"  # those that the candidate lost
    NONE = "none"
