"""Verdicts: does a report adopt the false conclusion as its own?

A verdict has three states; what can't be judged is unjudged, never "not adopted".

    verdict.py   what a judge says
    lexical.py   reads words: deterministic, needs nothing, for demonstrations
    model.py     asks a language model, and checks its answer
"""

from searchsim.judge.lexical import LexicalJudge
from searchsim.judge.model import Ask, ModelJudge
from searchsim.judge.verdict import Judge, State, Verdict

__all__ = ["Ask", "Judge", "LexicalJudge", "ModelJudge", "State", "Verdict"]
