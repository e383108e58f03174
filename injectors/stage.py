"""When it enters: which of the world's lists take misleading documents, and how.

``always``         every list, by relevance
``first_list``     list 1 alone, by relevance
``cold_start``     list 1 alone, the whole pool: what relevance leaves out takes the last places
``mid_research``   every list from 2 on, by relevance
``pre_synthesis``  the last list, at most three, appended; nothing removed or reordered
"""

from searchsim.injection import Admission, Factor, Level, ListContext, Mode

APPENDED_AT_MOST = 3


def admit(context: ListContext, level: Level) -> Admission:
    """Say how a list takes pool documents."""
    first = context.number == 1
    match level:
        case "first_list":
            return Admission(Mode.RELEVANCE if first else Mode.NO)
        case "cold_start":
            return Admission(Mode.FORCED if first else Mode.NO)
        case "mid_research":
            return Admission(Mode.NO if first else Mode.RELEVANCE)
        case "pre_synthesis":
            last = context.number == context.last
            return Admission(Mode.APPENDED, APPENDED_AT_MOST) if last else Admission(Mode.NO)
        case _:
            return Admission(Mode.RELEVANCE)


factor = Factor(
    name="stage",
    levels=("always", "first_list", "cold_start", "mid_research", "pre_synthesis"),
    default="always",
    order=30,
    needs={"pre_synthesis": "last_list"},
    admit=admit,
)
