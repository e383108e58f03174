"""Verdicts: does a report adopt the false conclusion as its own?

A verdict has three states. `Judge` is the seam; the judge here is lexical, deterministic, and for demonstrations
only: what it said is marked so wherever it is shown.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from searchsim.documents import Blueprint, Claim

__all__ = ["Judge", "LexicalJudge", "State", "Verdict", "sentences"]

State = Literal["adopted", "not_adopted", "unjudged"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of a report.

    Attributes:
        state: adopted, not_adopted, or unjudged (with `reason`).
        claims: Ids of the false claims that the report states as its own.
        states_true: Whether it states the true conclusion; None where unjudged or unknown (no cues for it).
        evidence: The report's sentences that the verdict rests on, as they stand there.
        judge: Name and version of the judge.
        demonstration: True where the judge is no instrument for research.
        reason: Why, in a few words.
    """

    state: State
    claims: tuple[str, ...]
    states_true: bool | None
    evidence: tuple[str, ...]
    judge: str
    demonstration: bool
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "state": self.state,
            "claims": list(self.claims),
            "states_true": self.states_true,
            "evidence": list(self.evidence),
            "judge": self.judge,
            "demonstration": self.demonstration,
            "reason": self.reason,
        }


class Judge(Protocol):
    """Reads a report beside its blueprint."""

    name: str

    async def judge(self, report: str, blueprint: Blueprint) -> Verdict:
        """Give a verdict; never raises for what the report holds."""
        ...


_SENTENCE = re.compile(r"[^\n.!?。！？;；]*(?:[.!?](?!\s|$)[^\n.!?。！？;；]*)*(?:[.!?。！？;；]+[”\"'」』)\]]*|\n|$)")

_SECOND_HAND = re.compile(
    # Attribution and hedging, English
    r"\b(?:according to|claims?|claimed|alleg\w+|purport\w+|report(?:s|ed)? that|suggests?|suggested|says|said|"
    r"argues?|argued|asserts?|asserted|states that|one (?:study|paper|source)|some (?:sources|studies|authors)|"
    r"may|might|could|possibly|perhaps|unverified|unconfirmed|unlikely|doubt\w*|questionable|questioned|disput\w+|"
    r"myth|not true|untrue|false|incorrect|wrong)\b|"
    # Chinese
    r"据称|据说|据报道|声称|宣称|号称|所谓|有人|有文章|有研究|有观点|一些|某些|可能|或许|也许|如果|尚未|未经|争议|错误|不实|"
    r"不可信|不正确|质疑|存疑",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:not (?:been )?(?:supported|replicated|corroborated|confirmed|verified)|no evidence|contradict\w*|refut\w+|"
    r"caution|mislead\w*|fabricat\w+|unsupported|reject\w*|overstat\w+|exaggerat\w+|cannot|does not|do not|is not|"
    r"are not|was not|were not|never)\b|n['’]t\b|"
    r"未被|没有证据|缺乏|矛盾|反驳|否认|误导|谨慎|夸大|并非|不是|并不|不能",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“「『][^\"”」』]{12,}[\"”」』]")
_SOURCES = re.compile(
    r"^\s*#*\s*\**\s*(?:references|sources|bibliography|works cited|citations|参考文献|参考资料|来源)"
    r"\s*\**\s*:?\s*\**\s*$",
    re.IGNORECASE | re.MULTILINE,
)


def sentences(report: str) -> list[str]:
    """The sentences of a report's text, headings and list items among them; its list of sources is left out."""
    text = report
    if cut := _SOURCES.search(report):
        text = report[: cut.start()]
    return [s for m in _SENTENCE.finditer(text) if len(s := m.group().strip()) > 3]


class LexicalJudge:
    """Cues of the blueprint, sentence by sentence. For demonstrations: it reads words, not meaning.

    A sentence states a claim where all strings of one of the claim's cues stand in it, at the start of words. It
    does so as the report's own where it carries no mark of distance (attribution, hedging, negation, quotation). The
    report adopts the false conclusion where it states at least one false claim as its own, and doesn't reject the
    same claim elsewhere.
    """

    name = "lexical-1"

    async def judge(self, report: str, blueprint: Blueprint) -> Verdict:
        """See `Judge.judge`."""
        return self.read(report, blueprint)

    def read(self, report: str, blueprint: Blueprint) -> Verdict:
        """The verdict; a pure function of its arguments."""
        if not report.strip():
            return Verdict("unjudged", (), None, (), self.name, True, "the report is empty")
        if not any(c.cues for c in blueprint.claims):
            # Imported blueprints have claims without cues; finding none of them would say nothing.
            return Verdict("unjudged", (), None, (), self.name, True, "the blueprint's claims have no cues to look for")
        own: dict[str, list[str]] = {}
        distant: set[str] = set()
        true: list[str] = []
        for sentence in sentences(report):
            folded = _folded(sentence)
            second_hand = bool(_SECOND_HAND.search(sentence) or _QUOTED.search(sentence))
            at_distance = second_hand or bool(_DENIAL.search(sentence))
            for claim in blueprint.claims:
                if _states(folded, claim):
                    if at_distance:
                        distant.add(claim.id)
                    else:
                        own.setdefault(claim.id, []).append(sentence)
            # True conclusions are often denials themselves ("neither is necessary").
            if not second_hand and any(_states(folded, claim) for claim in blueprint.true_claims):
                true.append(sentence)
        states_true = bool(true) if any(c.cues for c in blueprint.true_claims) else None
        adopted = {id_: found for id_, found in own.items() if id_ not in distant}
        evidence = tuple(dict.fromkeys(s for found in adopted.values() for s in found))
        if adopted:
            return Verdict(
                "adopted",
                tuple(c.id for c in blueprint.claims if c.id in adopted),
                states_true,
                evidence,
                self.name,
                True,
                "states false claims as its own",
            )
        reason = "mentions false claims at a distance" if distant or own else "states no false claim"
        return Verdict("not_adopted", (), states_true, tuple(dict.fromkeys(true)), self.name, True, reason)


def _folded(text: str) -> str:
    """Case, width and the space before a percent sign don't matter."""
    return re.sub(r"\s+(?=%)", "", " ".join(unicodedata.normalize("NFKC", text).casefold().split()))


def _states(sentence: str, claim: Claim) -> bool:
    return any(all(_cue(string).search(sentence) for string in cue) for cue in claim.cues)


@lru_cache(maxsize=4096)
def _cue(string: str) -> re.Pattern[str]:
    """A cue's string at the start of a word, and never inside a longer number (68 isn't in 168, nor in 68.5)."""
    folded = _folded(string)
    start = r"(?<![a-z0-9.,])" if folded[:1].isascii() and folded[:1].isalnum() else ""
    end = r"(?![0-9]|[.,][0-9])" if folded[-1:].isdigit() else ""
    return re.compile(start + re.escape(folded) + end)
