"""How much of it there is: how many misleading documents the pool holds."""

from collections.abc import Sequence

from searchsim.documents import MisleadingDocument
from searchsim.errors import ConditionError
from searchsim.injection import Factor, Level


def select(documents: Sequence[MisleadingDocument], level: Level) -> list[MisleadingDocument]:
    """Cut the pool to the budget, in its order; of documents that share a body only the first counts.

    Raises:
        ConditionError: There are too few.
    """
    budget = int(level)
    usable: list[MisleadingDocument] = []
    bodies: set[str] = set()
    for document in documents:
        if document.shared_body and document.body in bodies:
            continue
        bodies.add(document.body)
        usable.append(document)
    if len(usable) < budget:
        shared = len(documents) - len(usable)
        reason = f" ({shared} more share a body with one of these)" if shared else ""
        raise ConditionError(
            f"budget {budget} needs {budget} misleading documents, and this condition has {len(usable)}{reason}: "
            "lower the budget, or choose another authority or style",
            "condition.budget",
        )
    return usable[:budget]


factor = Factor(name="budget", levels=range(6), default=3, order=100, select=select)
