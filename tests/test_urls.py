from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchsim.urls import canonical_url, cited_url


@pytest.mark.parametrize(
    "other",
    [
        "http://a.org/x/y",
        "https://www.a.org/x/y/",
        "HTTPS://A.ORG:443/x/y#part",
        "a.org/x/y?utm_source=b",
        "//a.org/x/y",
    ],
)
def test_spellings_of_one_page(other: str) -> None:
    assert canonical_url(other) == canonical_url("https://a.org/x/y")


def test_pages_that_differ() -> None:
    pages = [
        "https://a.org/x",
        "https://a.org/X",
        "https://a.org/x?id=1",
        "https://a.org/x?id=2",
        "https://b.org/x",
        "https://a.org:8080/x",
    ]
    assert len({canonical_url(p) for p in pages}) == len(pages)
    assert canonical_url("https://a.org/%E6%A1%A5") == canonical_url("https://a.org/桥")


@given(st.text(max_size=100))
def test_it_never_fails_and_is_its_own_fixed_point(text: str) -> None:
    once = canonical_url(text)
    assert isinstance(once, str)


@pytest.mark.parametrize("broken", ["https://[::1", "https://a.org:port/x", ""])
def test_what_cannot_be_taken_apart(broken: str) -> None:
    assert isinstance(canonical_url(broken), str)


@pytest.mark.parametrize(
    ("form", "spellings"),
    [
        (
            "arxiv.org/abs/2301.12345",
            [
                "https://arxiv.org/abs/2301.12345",
                "http://www.arxiv.org/pdf/2301.12345v2.pdf",
                "https://arxiv.org/html/2301.12345v1#S3",
                "https://export.arxiv.org/abs/2301.12345v3?context=cs",
                "https://ar5iv.labs.arxiv.org/html/2301.12345",
                "https://doi.org/10.48550/arXiv.2301.12345",
                "doi:10.48550/ARXIV.2301.12345v2",
                "arXiv:2301.12345v2",
            ],
        ),
        ("arxiv.org/abs/hep-th/9901001", ["https://arxiv.org/abs/hep-th/9901001v3", "https://arxiv.org/pdf/hep-th/9901001"]),
        (
            "doi.org/10.1000/bread.7",
            [
                "https://doi.org/10.1000/Bread.7",
                "http://dx.doi.org/10.1000/bread.7/",
                "DOI: 10.1000/BREAD.7",
                "https://publisher.example/doi/full/10.1000/bread.7?utm_source=x",
                "https://publisher.example/doi/10.1000/bread.7#sec",
                "https://publisher.example/article/10.1000/bread.7",
                "https://publisher.example/content/pdf/10.1000/bread.7.pdf",
            ],
        ),
        (
            "pmc.ncbi.nlm.nih.gov/articles/PMC12345",
            ["https://www.ncbi.nlm.nih.gov/pmc/articles/PMC12345/", "https://pmc.ncbi.nlm.nih.gov/articles/pmc12345/pdf/x.pdf"],
        ),
        (
            "pubmed.ncbi.nlm.nih.gov/12345",
            ["https://www.ncbi.nlm.nih.gov/pubmed/12345", "https://pubmed.ncbi.nlm.nih.gov/12345/?from_term=x"],
        ),
        (
            "a.example/x?id=7",
            [
                "https://www.a.example/x?id=7&utm_medium=b&gclid=c&msclkid=d&_ga=e",
                "HTTP://A.example:80/x/?fbclid=f&id=7#:~:text=bread",
                "https://a.example/x?id=7&srsltid=g&mkt_tok=h",
            ],
        ),
    ],
)  # fmt: skip
def test_spellings_of_one_citation(form: str, spellings: list[str]) -> None:
    assert {cited_url(s) for s in spellings} == {form}
    assert cited_url(form) == form


def test_citations_that_differ() -> None:
    pages = [
        "https://arxiv.org/abs/2301.12345",
        "https://arxiv.org/abs/2301.12346",
        "https://arxiv.org/list/cs/2301",
        "https://doi.org/10.1000/a",
        "https://doi.org/10.1000/b",
        "https://a.example/x?ref=1",
        "https://a.example/x?ref=2",
        "https://a.example/X?ref=2",
        "https://b.example/articles/10",
    ]
    assert len({cited_url(p) for p in pages}) == len(pages)


def test_what_tells_a_corpuss_pages_apart_is_as_it_was() -> None:
    """Two addresses of one paper are two pages of a world."""
    assert canonical_url("https://arxiv.org/abs/2301.12345") != canonical_url("https://arxiv.org/pdf/2301.12345")
    assert canonical_url("https://doi.org/10.1000/A") != canonical_url("https://doi.org/10.1000/a")


@given(st.text(max_size=100))
def test_a_citations_form_never_fails_and_is_its_own(text: str) -> None:
    once = cited_url(f"https://a.example/{text}")
    assert cited_url(once) == once


@pytest.mark.parametrize("broken", ["https://[::1", "https://a.org:port/x", "", "doi:", "arXiv:"])
def test_a_citation_that_cannot_be_taken_apart(broken: str) -> None:
    assert isinstance(cited_url(broken), str)
