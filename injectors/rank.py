"""Where it stands: what was included moves, and nothing else."""

from collections.abc import Sequence

from searchsim.injection import Factor, Item, Level


def place(items: Sequence[Item], level: Level) -> list[Item]:
    """Order a list; sorting is stable, so that both kinds keep their order among themselves."""
    if level == "front":
        return sorted(items, key=lambda item: not item.injected)
    if level == "back":
        return sorted(items, key=lambda item: item.injected)
    return list(items)


factor = Factor(name="rank", levels=("spread", "front", "back"), default="spread", order=40, place=place)
