"""What a search string asks for: words to score and conditions to hold.

Parsing never fails: whatever isn't understood is words. `Query.matches` says what a query means, and is the oracle
that tests hold every engine to.

    site:a.org  site:(a.org OR b.edu)  -site:c.com  filetype:pdf  ext:pdf  intitle:word  inurl:word
    before:2024-05-01  after:2023  "exact phrase"  -word  -"phrase"  one OR another  AND (ignored)

Plain words score and are not required, as in every engine of this kind: a document matches when it holds at least
one of them. Operators filter. ``before:`` excludes its day, ``after:`` includes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from searchsim.documents import Document
from searchsim.text import tokens

__all__ = [
    "AnyOf",
    "Clause",
    "Extension",
    "InUrl",
    "Not",
    "Phrase",
    "Query",
    "Site",
    "parse",
    "sites_of",
    "url_text",
]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Tokens that stand next to each other, in the title, or in title or body."""

    tokens: tuple[str, ...]
    where: Literal["any", "title"] = "any"


@dataclass(frozen=True, slots=True)
class InUrl:
    """Tokens that stand next to each other in the URL's words."""

    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A host with its subdomains, a suffix such as ``edu``, or a host with the start of a path."""

    site: str


@dataclass(frozen=True, slots=True)
class Extension:
    """The ending of the URL's path, without dot."""

    extension: str


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several clauses."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A clause that must not hold."""

    clause: Clause


Clause = Phrase | InUrl | Site | Extension | AnyOf | Not


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed search.

    Attributes:
        words: Tokens to score, in order, with repetitions.
        clauses: All must hold.
        since: Published on this day or later.
        until: Published before this day.
        kinds: The document's kind is one of these; empty for any.
        text: What was parsed; two texts that ask for the same are the same query.
        tbs: The time filter that was parsed.
    """

    words: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    since: date | None = None
    until: date | None = None
    kinds: tuple[str, ...] = ()
    text: str = field(default="", compare=False)
    tbs: str = field(default="", compare=False)

    def matches(self, document: Document) -> bool:
        """Whether a document is an answer to this query: every engine's results must agree with this."""
        return self._matches(_Parts(document))

    def matches_tokens(
        self, document: Document, title: Sequence[str], body: Sequence[str], vocabulary: Set[str]
    ) -> bool:
        """`matches` for a document whose tokens, and the set of them, are at hand."""
        return self._matches(_Parts(document, title, body, vocabulary))

    def _matches(self, parts: _Parts) -> bool:
        published = parts.document.published
        if (self.since or self.until) and published is None:
            return False
        if self.since and published and published < self.since:
            return False
        if self.until and published and published >= self.until:
            return False
        if self.kinds and parts.document.kind not in self.kinds:
            return False
        if not all(parts.holds(clause) for clause in self.clauses):
            return False
        if not self.words:
            return bool(self.clauses or self.since or self.until)
        return not parts.vocabulary.isdisjoint(self.words)

    def weights(self) -> Counter[str]:
        """How often each word is asked for."""
        return Counter(self.words)

    def of_kinds(self, *kinds: str) -> Query:
        """The same query among documents of some kinds alone."""
        return replace(self, kinds=kinds)


class _Parts:
    """A document's tokens, made when asked for."""

    def __init__(
        self,
        document: Document,
        title: Sequence[str] | None = None,
        body: Sequence[str] | None = None,
        vocabulary: Set[str] | None = None,
    ) -> None:
        self.document = document
        self.title = tokens(document.title) if title is None else title
        self.body = tokens(document.body) if body is None else body
        self.vocabulary: Set[str] = {*self.title, *self.body} if vocabulary is None else vocabulary

    def holds(self, clause: Clause) -> bool:
        match clause:
            case Phrase(words, where):
                fields = [self.title] if where == "title" else [self.title, self.body]
                return any(_contains(f, words) for f in fields)
            case InUrl(words):
                return _contains(tokens(url_text(self.document.url)), words)
            case Site(site):
                return site in sites_of(self.document.url)
            case Extension(extension):
                return extension == extension_of(self.document.url)
            case AnyOf(clauses):
                return any(self.holds(c) for c in clauses)
            case Not(inner):
                return not self.holds(inner)


def _contains(stream: Sequence[str], words: tuple[str, ...]) -> bool:
    n = len(words)
    return any(tuple(stream[i : i + n]) == words for i in range(len(stream) - n + 1))


def url_text(url: str) -> str:
    """The words of a URL: everything but letters and digits parts them."""
    return re.sub(r"[\W_]+", " ", unquote(url))


def extension_of(url: str) -> str:
    """The ending of a URL's path in lower case, ``html`` where it has none, as search engines take it."""
    last = urlsplit(url).path.rsplit("/", 1)[-1]
    ending = last.rsplit(".", 1)[-1].lower() if "." in last else ""
    return ending if re.fullmatch(r"[a-z0-9]{1,5}", ending) else "html"


def sites_of(url: str) -> list[str]:
    """Everything that ``site:`` may name to find this URL: host suffixes, and these with starts of the path."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").split(".")
    suffixes = [".".join(labels[i:]) for i in range(len(labels))]
    steps = [s for s in parts.path.lower().split("/") if s]
    return suffixes + [
        f"{suffix}/{'/'.join(steps[:n])}"
        for suffix in suffixes
        if "." in suffix
        for n in range(1, min(len(steps), 6) + 1)
    ]


_LEXEME = re.compile(
    r"""
    (?P<minus>(?<!\S)-(?=\S))?
    (?:(?P<operator>site|filetype|ext|intitle|inurl|before|after|allintitle|allinurl|intext|allintext)
       :(?P<group>\([^()]*\))|
       (?P<operator1>site|filetype|ext|intitle|inurl|before|after|allintitle|allinurl|intext|allintext)
       :(?P<value>"[^"]*"|[^\s()]+)|
       "(?P<phrase>[^"]*)"|
       (?P<open>[()])|
       (?P<word>[^\s"()]+)|
       (?P<stray>"))
    """,
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def parse(text: str, *, tbs: str = "", today: date | None = None) -> Query:
    """The query of a search string.

    Args:
        text: What the client sent.
        tbs: Google's time filter: ``qdr:h|d|w|m|y`` with an optional number, or ``cdr:1,cd_min:M/D/Y,cd_max:M/D/Y``.
            What isn't understood is ignored.
        today: The day that ``qdr`` counts back from; without it ``qdr`` is ignored.
    """
    words: list[str] = []
    items: list[_Item | None] = []  # None stands for an OR between its neighbours
    since: date | None = None
    until: date | None = None

    for match in _LEXEME.finditer(text.replace("“", '"').replace("”", '"')):
        minus = match["minus"] is not None
        operator = (match["operator"] or match["operator1"] or "").lower()
        if match["open"] or match["stray"]:
            continue
        if operator in ("before", "after"):
            day = _day((match["value"] or match["group"] or "").strip('"()'))
            if day and operator == "before":
                until = min(until, day) if until else day
            elif day:
                since = max(since, day) if since else day
            else:
                words += tokens(match.group())
            continue
        clause: Clause | None
        scored: list[str]
        if operator:
            clause, scored = _operator(operator, match["value"], match["group"])
            if clause is None:
                words += tokens(match.group())
                continue
        elif match["phrase"] is not None:
            scored = tokens(match["phrase"])
            if not scored:
                continue
            clause = Phrase(tuple(scored))
        else:
            word = match["word"]
            if word in ("OR", "|") and not minus:
                items.append(None)
                continue
            if word in ("AND", "&") and not minus:
                continue
            scored = tokens(word)
            if not scored:
                continue
            if not minus:
                words += scored
                items.append(_Item(Phrase(tuple(scored)), required=False))
                continue
            clause = Phrase(tuple(scored))
        if minus:
            items.append(_Item(Not(clause)))
        else:
            words += scored
            items.append(_Item(clause))

    low, high = _time_filter(tbs, today)
    since = max(filter(None, (since, low)), default=None)
    until = min(filter(None, (until, high)), default=None)
    return Query(tuple(words), _joined(items), since, until, text=text, tbs=tbs)


class _Item(NamedTuple):
    """A part of a search string: a plain word alone isn't required, but beside an OR it is one choice."""

    clause: Clause
    required: bool = True


def _joined(items: Sequence[_Item | None]) -> tuple[Clause, ...]:
    """Bind ORs, which hold together more tightly than anything else."""
    clauses: list[Clause] = []
    groups: list[list[_Item]] = []
    bound = False
    for item in items:
        if item is None:
            bound = bool(groups)
        elif bound:
            groups[-1].append(item)
            bound = False
        else:
            groups.append([item])
    for group in groups:
        if len(group) > 1 or group[0].required:
            either = _either([item.clause for item in group])
            if either is not None:
                clauses.append(either)
    return tuple(dict.fromkeys(clauses))


def _operator(operator: str, value: str | None, group: str | None) -> tuple[Clause | None, list[str]]:
    """The clause of an operator and the words it scores; no clause where its value means nothing."""
    raw = (value if value is not None else group or "").strip('"()')
    values = [v.strip('"') for v in re.split(r"\s+(?:OR|\|)\s+|\s+", raw) if v.strip('"') not in ("", "OR", "|")]
    if operator == "site":
        sites = [s for s in map(_site, values) if s]
        return _either([Site(s) for s in sites]), []
    if operator in ("filetype", "ext"):
        return _either([Extension(v.lower().lstrip(".")) for v in values]), []
    where = "title" if "title" in operator else "any"
    if operator.startswith("all") or (value or "").startswith('"'):
        scored = tokens(raw)
        choices = [scored] if scored else []
    else:
        choices = [t for t in map(tokens, values) if t]
        scored = [t for choice in choices for t in choice]
    if "url" in operator:
        return _either([InUrl(tuple(tokens(url_text(" ".join(c))))) for c in choices]), []
    return _either([Phrase(tuple(c), where) for c in choices]), scored  # type: ignore[arg-type]


def _either(clauses: Sequence[Clause]) -> Clause | None:
    unique = tuple(dict.fromkeys(clauses))
    if len(unique) > 1:
        return AnyOf(unique)
    return unique[0] if unique else None


def _site(value: str) -> str:
    bare = re.sub(r"^(?:https?://)?(?:\*?\.)?", "", value.lower()).rstrip("/")
    host, _, path = bare.partition("/")
    host = host.split(":")[0].strip(".")
    return f"{host}/{path}" if path else host


def _day(value: str) -> date | None:
    """A day of ``2024-05-01``, ``2024/5/1``, ``2024-05`` or ``2024``; a part that is missing is the first."""
    match = re.fullmatch(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?", value)
    if not match:
        return None
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None


_PERIODS = {"h": 1, "d": 1, "w": 7, "m": 30, "y": 365}


def _time_filter(tbs: str, today: date | None) -> tuple[date | None, date | None]:
    """The days of a ``tbs`` value: from (included), to (excluded). Documents have days, so an hour is a day."""
    if (recent := re.search(r"\bqdr:([hdwmy])(\d{0,4})", tbs)) and today:
        count = max(int(recent[2] or 1), 1)
        days = -(-count // 24) if recent[1] == "h" else _PERIODS[recent[1]] * count
        return today - timedelta(days=min(days, (today - date.min).days)), None
    if "cdr:1" in tbs:
        low, high = (_american(re.search(rf"\b{name}:(\d+)/(\d+)/(\d+)", tbs)) for name in ("cd_min", "cd_max"))
        try:
            return low, high + timedelta(days=1) if high else None
        except OverflowError:
            return low, None
    return None, None


def _american(match: re.Match[str] | None) -> date | None:
    if not match:
        return None
    try:
        return date(int(match[3]), int(match[1]), int(match[2]))
    except (ValueError, OverflowError):
        return None
