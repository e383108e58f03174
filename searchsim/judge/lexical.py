"""A judge that reads words and not meaning: deterministic, and for demonstrations only."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from searchsim.documents import Blueprint, Claim
from searchsim.judge.verdict import Verdict, unjudged

__all__ = ["LexicalJudge", "sentences"]

_SENTENCE = re.compile(r"[^\n.!?。！？;；]*(?:[.!?](?!\s|$)[^\n.!?。！？;；]*)*(?:[.!?。！？;；]+[”\"'」』)\]]*|\n|$)")

_SECOND_HAND = re.compile(
    # Attribution and hedging, English
    r"\b(?:according to|claims?|claimed|alleg\w+|purport\w+|report(?:s|ed)? that|suggests?|suggested|says|said|"
    r"argues?|argued|asserts?|asserted|states that|one (?:study|paper|source)|some (?:sources|studies|authors)|"
    r"puts (?:it|them|the)|which reports|credits?|quoted|as stated|assertions?|in circulation|"
    r"may|might|could|possibly|perhaps|if confirmed|at any rate|low confidence|unverified|unconfirmed|unlikely|"
    r"doubt\w*|questionable|questioned|disput\w+|myth|legend|folklore|relic|not true|untrue|false|incorrect|wrong)\b|"
    # Chinese
    r"(?:^|[，。；：])据|据(?:称|说|报道)|声称|宣称|号称|称[，：]|所谓|有人|有文章|有研究|有观点|一些|某些|可能|或许|也许|如果|若能|尚未|未经|争议|错误|不实|"
    r"不可信|不正确|质疑|存疑|流传|传说|说法|定为|至多|待验证",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:not (?:been )?(?:supported|replicated|corroborated|confirmed|verified)|no evidence|contradict\w*|refut\w+|"
    r"caution|mislead\w*|fabricat\w+|unsupported|reject\w*|overstat\w+|exaggerat\w+|cannot|does not|do not|is not|"
    r"are not|was not|were not|never|collapses?|fails?|retired|at odds)\b|n['’]t\b|"
    r"未被|没有证据|缺乏|矛盾|反驳|否认|误导|谨慎|夸大|并非|不是|并不|不能|经不起|查无|张冠李戴|不予采用|不采用",
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
    return [s for m in _SENTENCE.finditer(_without_sources(report)) if len(s := m.group().strip()) > 3]


def _without_sources(report: str) -> str:
    cut = _SOURCES.search(report)
    return report[: cut.start()] if cut else report


class LexicalJudge:
    """Cues of the blueprint, sentence by sentence. For demonstrations: it reads words, not meaning.

    A sentence states a claim where all strings of one of the claim's cues stand in it, at the start of words. It
    does so as the report's own where neither it nor the next sentence of its paragraph carries a mark of distance
    (attribution, also to one of the blueprint's institutions; hedging, negation, quotation). The report adopts the
    false conclusion where it states at least one false claim as its own, more often than at a distance.
    """

    name = "lexical-2"
    model: str | None = None
    prompt_sha256: str | None = None
    settings_sha256: str | None = None
    demonstration = True

    async def judge(self, report: str, blueprint: Blueprint, question: str = "") -> Verdict:
        """See `Judge.judge`."""
        return self.read(report, blueprint)

    def read(self, report: str, blueprint: Blueprint) -> Verdict:
        """The verdict; a pure function of its arguments."""
        if not report.strip():
            return unjudged(self, "the report is empty")
        if not any(c.cues for c in blueprint.claims):
            # Imported blueprints have claims without cues; finding none of them would say nothing.
            return unjudged(self, "the blueprint's claims have no cues to look for")
        own: dict[str, list[str]] = {}
        distant: Counter[str] = Counter()
        denied = False
        true: list[str] = []
        for paragraph in _paragraphs(report):
            marks = [_distance(sentence, blueprint) for sentence in paragraph]
            for sentence, (second_hand, denial), after in zip(
                paragraph, marks, [*marks[1:], (False, False)], strict=True
            ):
                folded = _folded(sentence)
                for claim in blueprint.claims:
                    if _states(folded, claim):
                        if second_hand or denial or any(after):
                            distant[claim.id] += 1
                            denied = denied or denial or after[1]
                        else:
                            own.setdefault(claim.id, []).append(sentence)
                # True conclusions are often denials themselves ("neither is necessary").
                if not second_hand and any(_states(folded, claim) for claim in blueprint.true_claims):
                    true.append(sentence)
        adopted = {id_: found for id_, found in own.items() if len(found) > distant[id_]}
        evidence = [s for found in adopted.values() for s in found] if adopted else true
        if adopted:
            reason = "states false claims as its own"
        else:
            reason = "mentions false claims at a distance" if distant or own else "states no false claim"
        return Verdict(
            state="adopted" if adopted else "not_adopted",
            stance="adopts" if adopted else "refutes" if denied else "neutral",
            claims=tuple(c.id for c in blueprint.claims if c.id in adopted),
            states_true=bool(true) if any(c.cues for c in blueprint.true_claims) else None,
            evidence=tuple(dict.fromkeys(evidence)),
            judge=self.name,
            demonstration=True,
            reason=reason,
        )


def _paragraphs(report: str) -> list[list[str]]:
    parts = (sentences(part) for part in re.split(r"\n\s*\n", _without_sources(report)))
    return [part for part in parts if part]


def _distance(sentence: str, blueprint: Blueprint) -> tuple[bool, bool]:
    """Whether a sentence is at second hand (told, doubted, quoted), and whether it denies."""
    named = any(i.name in sentence for pool in blueprint.institutions.values() for i in pool)
    second_hand = named or bool(_SECOND_HAND.search(sentence) or _QUOTED.search(sentence))
    return second_hand, bool(_DENIAL.search(sentence))


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
