from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchsim.urls import canonical_url


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
