"""One spelling for URLs that mean the same page."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

__all__ = ["canonical_url", "cited_url"]

_TRACKING = ("utm_", "fbclid", "gclid", "mc_cid", "mc_eid", "ref_src")
_MORE_TRACKING = re.compile(
    r"(?:utm_\w*|\w*clid|msclkid|wbraid|gbraid|mc_[ce]id|mkt_tok|igshid|ref_src|ref_url|_ga|_gl|_hs(?:enc|mi)|spm|cmpid|s_cid|"
    r"trk|sca_esv|srsltid)",
    re.IGNORECASE,
)
_ARXIV = re.compile(
    r"(?:(?:www|export|browse|[a-z]{2})\.)?(?:arxiv\.org|ar5iv\.(?:labs\.arxiv\.)?org)/"
    r"(?:abs|pdf|html|format|ps|e-print|src|tex)/"
    r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?(?:\.pdf)?",
    re.IGNORECASE,
)
_DOI = re.compile(r"(?:dx\.)?doi\.org/(?:doi:)?(10\.\d{4,9}/.+)", re.IGNORECASE)
_PUBLISHED = re.compile(
    r"[^/]+/(?:doi(?:/(?:abs|full|pdf|epdf|pdfplus|pdfdirect|epub|reader))?|(?:article|chapter|content/pdf))/"
    r"(10\.\d{4,9}/.+?)(?:\.pdf)?",
    re.IGNORECASE,
)
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+?)(?:v\d+)?", re.IGNORECASE)
_PMC = re.compile(
    r"(?:(?:www\.)?ncbi\.nlm\.nih\.gov/pmc|pmc\.ncbi\.nlm\.nih\.gov)/articles/(pmc\d+)(?:/.*)?", re.IGNORECASE
)
_PUBMED = re.compile(r"(?:(?:www\.)?ncbi\.nlm\.nih\.gov/pubmed|pubmed\.ncbi\.nlm\.nih\.gov)/(\d+)", re.IGNORECASE)


def canonical_url(url: str) -> str:
    """A URL without scheme, fragment, tracking parameters, default port, ``www.`` and trailing slash.

    It is for comparing, not for fetching: host in lower case, path percent-decoded once and encoded again.
    Whatever can't be taken apart is given back stripped.
    """
    bare = url.strip()
    if "://" not in bare:
        bare = f"https://{bare.lstrip('/')}"
    try:
        parts = urlsplit(bare)
        port = parts.port
    except ValueError:
        return url.strip()
    host = (parts.hostname or "").removeprefix("www.").rstrip(".")
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    path = quote(unquote(parts.path), safe="/~!$&'()*+,;=:@").rstrip("/")
    query = urlencode(
        [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not k.lower().startswith(_TRACKING)]
    )
    return urlunsplit(("", host, path, query, "")).lstrip("/")


def cited_url(url: str) -> str:
    """A URL as citations are compared: see `canonical_url`, and one form for each paper.

    Two addresses of one text are one citation, so this goes further than what tells a corpus's pages apart. Dropped
    are more tracking parameters; arXiv's abstract, PDF and HTML pages and versions are one, and its mirrors and DOIs
    with them; a DOI, in lower case, stands for its resolver's page and its publisher's; so do PubMed's old and new
    addresses for each other.
    """
    named = re.sub(r"(?i)^\s*doi:\s*", "https://doi.org/", url)
    bare = canonical_url(re.sub(r"(?i)^\s*arxiv:\s*", "https://arxiv.org/abs/", named))
    address, _, query = bare.partition("?")
    if m := _ARXIV.fullmatch(address):
        return f"arxiv.org/abs/{m[1].lower()}"
    if m := _DOI.fullmatch(address) or _PUBLISHED.fullmatch(address):
        doi = m[1].lower()
        if m := _ARXIV_DOI.fullmatch(doi):
            return f"arxiv.org/abs/{m[1]}"
        return f"doi.org/{doi}"
    if m := _PMC.fullmatch(address):
        return f"pmc.ncbi.nlm.nih.gov/articles/{m[1].upper()}"
    if m := _PUBMED.fullmatch(address):
        return f"pubmed.ncbi.nlm.nih.gov/{m[1]}"
    kept = [(k, v) for k, v in parse_qsl(query, keep_blank_values=True) if not _MORE_TRACKING.fullmatch(k)]
    return f"{address}?{urlencode(kept)}" if kept else address
