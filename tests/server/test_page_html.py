from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import fields, replace
from datetime import date
from itertools import chain
from typing import Any

import aiohttp
import lxml.html  # type: ignore[import-untyped]
import pytest
import readability  # type: ignore[import-untyped]
import trafilatura

from searchsim.corpus import Corpus
from searchsim.documents import KINDS, STYLES, Document, MisleadingDocument
from searchsim.server.context import Context
from searchsim.server.page_html import document_html, missing_html
from searchsim.server.render import plain_text
from searchsim.text import snippet, tokens

BODY = "A first paragraph, long enough to be one.\n\n## One\n\nText of one.\n\n## Two\n\nText of two."


def page(**given: Any) -> Document:
    plain: dict[str, Any] = {
        "id": "d",
        "url": "https://host.example/a/b",
        "title": "A title",
        "body": BODY,
        "source_name": "The Source",
        "kind": "news",
        "language": "en",
        "published": date(2025, 3, 9),
    }
    return Document(**plain | given)


def organic_twin(bad: MisleadingDocument) -> Document:
    return Document(**{f.name: getattr(bad, f.name) for f in fields(Document)})


def misleading_of(corpus: Corpus) -> list[MisleadingDocument]:
    return list(chain.from_iterable(corpus.misleading.values()))


def extracts(html: str) -> dict[str, str]:
    return {
        "trafilatura": trafilatura.extract(html) or "",
        "trafilatura, precise": trafilatura.extract(html, favor_precision=True) or "",
        "readability": lxml.html.fromstring(readability.Document(html).summary()).text_content(),
    }


@pytest.fixture(scope="session")
def some(quickstart: Corpus) -> list[Document]:
    """All organic documents, and of the misleading ones each written text once: the rest differ in the byline."""
    texts = {bad.text: bad for bad in misleading_of(quickstart)}
    found = [*quickstart.documents(), *texts.values()]
    assert {(d.kind, d.language) for d in found} == {(k, lang) for k in KINDS for lang in ("en", "zh")}
    return found


def test_extractors_give_back_the_body_and_little_else(some: list[Document]) -> None:
    for document in some:
        body = Counter(tokens(plain_text(document.body)))
        known = body + Counter(tokens(document.title))
        for name, text in extracts(document_html(document)).items():
            got = Counter(tokens(text))
            assert (body & got).total() >= 0.95 * body.total(), (name, document.id)
            assert (got - known).total() <= 0.02 * got.total(), (name, document.id, got - known)


def test_extractors_find_title_date_source_and_no_author_where_there_is_none(some: list[Document]) -> None:
    for document in some:
        html = document_html(document)
        found = trafilatura.extract_metadata(html)
        assert document.published
        assert (found.title, found.sitename, found.author) == (document.title, document.source_name, None)
        assert (found.description, found.url) == (snippet(document), document.url)
        # A path such as /2025/05/21-days-faster is a date to trafilatura, whatever the page says.
        if not re.search(r"/\d{4}/\d{2}/\d{2}\b", document.url):
            assert found.date == document.published.isoformat()
        assert readability.Document(html).title().replace("-", "–") == document.title.replace("-", "–")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("language", "author"), [("en", "Maren Holloway"), ("zh", "周远山")])
def test_an_author_is_told_where_the_document_has_one(kind: str, language: str, author: str) -> None:
    html = document_html(page(kind=kind, language=language, author=author))
    found = trafilatura.extract_metadata(html)
    assert found.author == author
    assert f'<meta name="author" content="{author}">' in html
    (shown,) = lxml.html.fromstring(html).xpath("//*[contains(@class, 'byline')]")
    assert author in shown.text_content()
    without = document_html(page(kind=kind, language=language))
    assert "author" not in without.lower()
    assert not lxml.html.fromstring(without).xpath("//*[contains(@class, 'byline')]")


def test_nothing_on_a_page_depends_on_being_injected(quickstart: Corpus) -> None:
    for bad in misleading_of(quickstart):
        assert bad.kind == bad.style
        twin = organic_twin(bad)
        assert type(twin) is Document
        assert document_html(bad) == document_html(twin)


@pytest.mark.parametrize("style", STYLES)
def test_organic_and_misleading_pages_of_a_kind_are_one_template(quickstart: Corpus, style: str) -> None:
    """With the same fields filled in, an organic document's page is the misleading one's."""
    organic = next(d for d in quickstart.documents() if d.kind == style)
    bad = next(d for d in misleading_of(quickstart) if d.style == style and d.language == organic.language)
    shown = {f.name: getattr(organic, f.name) for f in fields(Document) if f.name not in ("id", "kind")}
    assert document_html(replace(bad, **shown)) == document_html(organic)
    for name in ("misleading", "injected", "canary", bad.task, bad.id):
        assert name not in re.sub('https://[^ "]*', "", document_html(bad)), name


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("paper", "ScholarlyArticle"),
        ("news", "NewsArticle"),
        ("blog", "BlogPosting"),
        ("post", "DiscussionForumPosting"),
        ("reference", "WebPage"),
    ],
)
def test_what_machines_read(kind: str, type_: str) -> None:
    document = page(kind=kind, language="zh", author="周远山", title='题 <b> & "引" </script><script>alert(1)')
    tree = lxml.html.fromstring(document_html(document))
    (script,) = tree.xpath("//script")
    assert script.get("type") == "application/ld+json"
    assert json.loads(script.text_content()) == {
        "@context": "https://schema.org",
        "@type": type_,
        "headline": document.title,
        "name": document.title,
        "description": snippet(document),
        "url": document.url,
        "mainEntityOfPage": document.url,
        "inLanguage": "zh",
        "publisher": {"@type": "Organization", "name": "The Source"},
        "datePublished": "2025-03-09",
        "author": {"@type": "Person", "name": "周远山"},
    }
    metas = {m.get("name") or m.get("property"): m.get("content") for m in tree.xpath("//meta[@content]")}
    assert tree.get("lang") == "zh"
    assert tree.findtext(".//title") == document.title
    assert tree.xpath("string(//link[@rel='canonical']/@href)") == document.url
    assert metas["robots"] == "noindex, nofollow, noarchive"
    assert metas["description"] == metas["og:description"] == snippet(document)
    assert metas["article:published_time"] == "2025-03-09"
    assert (metas["og:title"], metas["og:type"], metas["og:url"]) == (document.title, "article", document.url)
    assert (metas["og:site_name"], metas["og:locale"]) == ("The Source", "zh_CN")
    cited = {name: value for name, value in metas.items() if name.startswith("citation_")}
    if kind == "paper":
        assert (cited["citation_title"], cited["citation_author"]) == (document.title, "周远山")
        assert cited["citation_publication_date"] == "2025/03/09"
    else:
        assert not cited


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_without_date_shows_none(kind: str) -> None:
    html = document_html(page(kind=kind, published=None))
    assert "<time" not in html
    assert "Published" not in html
    assert "datePublished" not in html
    assert "published_time" not in html
    assert not re.search(r"\b(19|20)\d\d\b", re.sub("<style>.*?</style>", "", html, flags=re.DOTALL))


def test_labels_and_dates_are_in_the_documents_language() -> None:
    assert 'Published: <time datetime="2025-03-09">March 9, 2025</time>' in document_html(page(kind="paper"))
    assert '发布日期：<time datetime="2025-03-09">2025年3月9日</time>' in document_html(
        page(kind="paper", language="zh")
    )
    assert "发布日期" in document_html(page(kind="reference", language="zh-Hans"))
    assert 'og:locale" content="zh_TW"' in document_html(page(language="zh-TW"))
    german = document_html(page(language="de"))
    assert '<html lang="de">' in german
    assert ">2025-03-09</time>" in german
    assert "og:locale" not in document_html(page(language="tlh"))


def test_pages_load_nothing_and_lead_nowhere(some: list[Document]) -> None:
    body = (
        "[there](https://elsewhere.example/x) ![a sign](https://elsewhere.example/i.png) <img src=https://e.example/j>\n\n"
        "[here](/c) [self](https://host.example/d) [part](#one) [odd](//elsewhere.example) [odder](///elsewhere.example/a) [oddest](https:elsewhere.example) [mail](mailto:a@b.example)\n"
    )
    linking = page(body=body)
    html = document_html(linking)
    tree = lxml.html.fromstring(html)
    for text in ("there", "a sign", "here", "odd", "mail"):
        assert text in tree.text_content()
    assert [a.get("href") for a in tree.xpath("//*[@itemprop='articleBody']//a")] == [
        "/c",
        "https://host.example/d",
        "#one",
    ]
    for document in [*some, linking]:
        tree = lxml.html.fromstring(document_html(document))
        assert not tree.xpath("//img | //iframe | //form | //object | //script[not(@type='application/ld+json')]")
        assert {link.get("rel") for link in tree.xpath("//link")} == {"canonical", "icon"}
        assert tree.xpath("string(//link[@rel='icon']/@href)") == "data:,"
        assert not tree.xpath("//*[@src or @srcset or @style or @background]")
        assert "url(" not in tree.findtext(".//style")
        assert "@import" not in tree.findtext(".//style")
    ids = {
        document.id
        for document in some
        if re.search(r'href="(?!#|data:)', re.sub("<link.*?>", "", document_html(document)))
    }
    assert not ids


def test_headings_stand_under_the_pages_own() -> None:
    tree = lxml.html.fromstring(
        document_html(page(kind="reference", body="# A title\n\nText.\n\n# One\n\n## 1. `Deep`\n\nText."))
    )
    assert [(h.tag, h.text_content()) for h in tree.xpath("//h1 | //h2 | //h3")] == [
        ("h1", "A title"),
        ("h2", "One"),
        ("h3", "1. Deep"),
    ]
    contents = tree.xpath("//nav[contains(@class, 'toc')]//a")
    assert [(a.get("href"), a.text_content()) for a in contents] == [("#section-1", "One"), ("#section-2", "1. Deep")]
    assert tree.xpath("//h3[@id='section-2']")
    assert not lxml.html.fromstring(document_html(page(kind="reference", body="Text."))).xpath(
        "//nav[contains(@class, 'toc')]"
    )


@pytest.mark.parametrize(
    ("body", "abstract", "counted"),
    [
        ("## Abstract\n\nText.\n\n## 1. Introduction\n\nText.", True, False),
        ("## Summary\n\nText.\n\n## Introduction\n\nText.\n\n## References\n\n1. One", True, True),
        ("## 摘要\n\n文。\n\n## 一、引言\n\n文。", True, False),
        ("## 1. Introduction\n\nText.", False, False),
        ("Text.", False, True),
    ],
)
def test_a_paper_has_an_abstract_and_numbered_sections(body: str, abstract: bool, counted: bool) -> None:
    """Where the body numbers its sections itself, the page doesn't number them again."""
    tree = lxml.html.fromstring(document_html(page(kind="paper", body=body)))
    (inside,) = tree.xpath("//*[@itemprop='articleBody']")
    assert ("abstract-first" in inside.classes, "numbered" in inside.classes) == (abstract, counted)
    uncounted = [h.text for h in tree.xpath("//h2[@class='plain']")]
    assert uncounted == [h for h in ("Abstract", "Summary", "摘要", "References") if f"## {h}\n" in body]


def test_the_page_of_a_missing_document() -> None:
    assert "<title>404 Not Found</title>" in missing_html()
    assert "noindex" in missing_html()


async def test_a_page_over_http(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    bad = next(context.worlds.create("anji-bridge", key="k").documents())
    organic = await context.engine.document("anji-bridge-01")
    assert organic
    headers = []
    for document in (bad, organic):
        asked = f"{url}/w/k/page"
        async with http.get(asked, params={"url": document.url}) as answer:
            assert await answer.text() == document_html(document)
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            assert answer.headers["Content-Language"] == "zh"
            assert document.published
            assert answer.headers["Last-Modified"] == document.published.strftime("%a, %d %b %Y 00:00:00 GMT")
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            headers.append(list(answer.headers))
            length = answer.headers["Content-Length"]
        async with http.head(asked, params={"url": document.url}) as answer:
            assert (answer.status, answer.headers["Content-Length"]) == (200, length)
            assert await answer.read() == b""
    assert headers[0] == headers[1]


async def test_a_page_as_json_and_text(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    bad = next(context.worlds.create("anji-bridge", key="k").documents())
    async with http.get(f"{url}/w/k/page", params={"url": bad.url, "format": "json"}) as answer:
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        assert "noindex" in answer.headers["X-Robots-Tag"]
        assert bad.published
        assert await answer.json() == {
            "url": bad.url,
            "title": bad.title,
            "source": bad.source_name,
            "published": bad.published.isoformat(),
            "author": None,
            "language": "zh",
            "kind": bad.style,
            "text": plain_text(bad.body),
        }
    async with http.get(f"{url}/w/k/page", params={"url": bad.url, "format": "text"}) as answer:
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert await answer.text() == (
            f"Title: {bad.title}\nURL: {bad.url}\nSource: {bad.source_name}\nPublished: {bad.published}\n\n"
            f"{plain_text(bad.body)}\n"
        )
    assert [e["dialect"] for e in context.worlds.events("k")] == ["page", "page"]


async def test_a_missing_page_in_each_form(http: aiohttp.ClientSession, url: str) -> None:
    asked = {"url": "https://nowhere.example/"}
    async with http.get(f"{url}/page", params=asked) as answer:
        assert (answer.status, await answer.text()) == (404, missing_html())
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "noindex" in answer.headers["X-Robots-Tag"]
    async with http.get(f"{url}/page", params=asked | {"format": "json"}) as answer:
        assert (answer.status, await answer.json()) == (404, {"error": {"message": "Not Found"}})
    async with http.get(f"{url}/page", params=asked | {"format": "text"}) as answer:
        assert (answer.status, await answer.text()) == (404, "404 Not Found\n")
    async with http.get(f"{url}/page", params=asked | {"format": "pdf"}) as answer:
        assert (answer.status, await answer.text()) == (400, "Unknown format: one of html, text, json\n")
    async with http.get(f"{url}/w/unknown/page", params=asked | {"format": "json"}) as answer:
        assert (answer.status, await answer.json()) == (403, {"error": {"message": "Forbidden"}})
