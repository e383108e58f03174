"""A document as the full page of a site of its kind: paper, news article, blog, forum post, reference page.

Everything on a page comes from the fields that organic and misleading documents share, through one template a kind, so
that a page says nothing about which of the two it is. Nothing is loaded from elsewhere and no link leads elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit
from zlib import crc32

import orjson
from markdown_it.token import Token
from markupsafe import Markup

from searchsim.documents import Document
from searchsim.server.render import markdown, template
from searchsim.text import snippet

__all__ = ["document_html", "missing_html"]

_TYPES = {
    "paper": "ScholarlyArticle",
    "news": "NewsArticle",
    "blog": "BlogPosting",
    "post": "DiscussionForumPosting",
    "reference": "WebPage",
}
_LOCALES = {"en": "en_US", "zh": "zh_CN", "ja": "ja_JP", "ko": "ko_KR", "de": "de_DE", "fr": "fr_FR", "es": "es_ES"}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ENGLISH = {
    "about": "About",
    "archive": "Archive",
    "article": "Research article",
    "by": "By ",
    "cite": "How to cite",
    "colon": ": ",
    "contact": "Contact",
    "contents": "Contents",
    "corrections": "Corrections",
    "features": "Features",
    "feed": "Subscribe by RSS",
    "forum": "Forum",
    "general": "General discussion",
    "home": "Home",
    "index": "Index",
    "latest": "Latest",
    "login": "Log in",
    "newer": "Newer post",
    "news": "News",
    "older": "Older post",
    "opinion": "Opinion",
    "print": "Print",
    "publications": "Publications",
    "published": "Published",
    "quote": "Quote",
    "register": "Register",
    "reply": "Reply",
    "report": "Report",
    "share": "Share",
    "starter": "Thread starter",
    "to_reply": "Log in or register to reply to this thread.",
}
_CHINESE = {
    "about": "关于我们",
    "archive": "归档",
    "article": "研究论文",
    "by": "作者：",
    "cite": "引用格式",
    "colon": "：",
    "contact": "联系我们",
    "contents": "目录",
    "corrections": "更正",
    "features": "专题",
    "feed": "RSS 订阅",
    "forum": "论坛",
    "general": "综合讨论",
    "home": "首页",
    "index": "索引",
    "latest": "最新",
    "login": "登录",
    "newer": "下一篇",
    "news": "新闻",
    "older": "上一篇",
    "opinion": "评论",
    "print": "打印",
    "publications": "论文与出版物",
    "published": "发布日期",
    "quote": "引用",
    "register": "注册",
    "reply": "回复",
    "report": "举报",
    "share": "分享",
    "starter": "楼主",
    "to_reply": "登录或注册后方可回复本帖。",
}
_ABSTRACT = re.compile(r"abstract|summary|overview|摘\s*要|提\s*要|概\s*要", re.IGNORECASE)
_PLAIN = re.compile(r"references|bibliography|acknowledge?ments?|参考文献|致\s*谢", re.IGNORECASE)
_NUMBERED = re.compile(r"\d|[一二三四五六七八九十]+[、.．]")


def document_html(document: Document) -> str:
    """The page of a document.

    Args:
        document: Organic or misleading; its class makes no difference.

    Returns:
        HTML that needs no other resource, marked ``noindex``.
    """
    body, headings = _body(document)
    primary, _, region = document.language.partition("-")
    texts = [heading.text for heading in headings if heading.level == 2]
    return template(
        f"pages/{document.kind}.html",
        d=document,
        body=body,
        headings=headings,
        abstract_first=bool(texts) and bool(_ABSTRACT.match(texts[0])),
        numbered=any(_NUMBERED.match(text) for text in texts),
        description=snippet(document),
        structured=_structured(document),
        locale=f"{primary}_{region}" if re.fullmatch("[A-Z]{2}", region) else _LOCALES.get(primary, ""),
        shown_date=_long_date(document.published, primary) if document.published else "",
        # A site has a colour of its own, drawn from its host.
        hue=crc32(document.host.encode()) % 360,
        say=_CHINESE if primary == "zh" else _ENGLISH,
    )


def missing_html() -> str:
    """The page of a URL that no document has."""
    return template("pages/missing.html")


def _long_date(day: date, language: str) -> str:
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    if language == "en":
        return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"
    return day.isoformat()


def _structured(document: Document) -> Markup:
    """What schema.org calls the page, as JSON-LD."""
    facts: dict[str, object] = {
        "@context": "https://schema.org",
        "@type": _TYPES[document.kind],
        "headline": document.title,
        "name": document.title,
        "description": snippet(document),
        "url": document.url,
        "mainEntityOfPage": document.url,
        "inLanguage": document.language,
        "publisher": {"@type": "Organization", "name": document.source_name},
    }
    if document.published:
        facts["datePublished"] = document.published.isoformat()
    if document.author:
        facts["author"] = {"@type": "Person", "name": document.author}
    # In a script nothing is unescaped, and only "<" could end it or open a comment.
    return Markup(orjson.dumps(facts).decode().replace("<", "\\u003c"))  # noqa: S704


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    id: str
    text: str


def _body(document: Document) -> tuple[Markup, list[_Heading]]:
    """The Markdown body as HTML under the page's own h1, and its headings."""
    tokens = markdown.parse(document.body)
    if len(tokens) > 2 and tokens[0].tag == "h1" and tokens[1].content.strip() == document.title.strip():
        tokens = tokens[3:]
    opened = [n for n, token in enumerate(tokens) if token.type == "heading_open"]
    deeper = max((2 - int(tokens[n].tag[1]) for n in opened), default=0)
    headings: list[_Heading] = []
    for n in opened:
        level = min(int(tokens[n].tag[1]) + max(deeper, 0), 6)
        tokens[n].tag = tokens[n + 2].tag = f"h{level}"
        text = "".join(token.content for token in tokens[n + 1].children or () if token.type in ("text", "code_inline"))
        heading = _Heading(level, f"section-{len(headings) + 1}", text)
        tokens[n].attrSet("id", heading.id)
        if _ABSTRACT.fullmatch(heading.text) or _PLAIN.fullmatch(heading.text):
            tokens[n].attrSet("class", "plain")
        headings.append(heading)
    for token in tokens:
        if token.children:
            token.children = _kept_inside(token.children, document.host)
    # markdown-it escapes everything that isn't markup.
    return Markup(markdown.renderer.render(tokens, markdown.options, {}).strip()), headings  # noqa: S704


def _kept_inside(tokens: Sequence[Token], host: str) -> list[Token]:
    """Links to other hosts as their text, images as what they show: the page leads nowhere and loads nothing."""
    kept: list[Token] = []
    inside = True
    for token in tokens:
        if token.type == "link_open":
            inside = _is_own(str(token.attrGet("href") or ""), host)
        if token.type == "image":
            text = Token("text", "", 0)
            text.content = token.content
            kept.append(text)
        elif inside or token.type not in ("link_open", "link_close"):
            kept.append(token)
        if token.type == "link_close":
            inside = True
    return kept


def _is_own(href: str, host: str) -> bool:
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    if parts.scheme in ("http", "https"):
        return parts.hostname == host
    # Browsers take more slashes, and none after a scheme, for a host as well.
    return not parts.scheme and not parts.netloc and not href.lstrip().startswith(("//", "\\", "/\\"))
