"""Ids and made addresses are safe, unique and the same every time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchsim.documents import faults_in
from searchsim.importers.identifier import made_url, safe_id, slug


def test_what_is_safe_stays() -> None:
    assert safe_id("MED-10") == "MED-10"
    assert safe_id("x" * 128) == "x" * 128


def test_what_is_not_is_made_so_and_kept_apart() -> None:
    assert safe_id("a b") == "a-b-c8687a08aa5d"
    assert safe_id("a/b") != safe_id("a b") != safe_id("a:b")
    assert safe_id("文档") == safe_id("文档") != safe_id("文件")


@given(st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"])))
def test_they_pass_the_schema(raw: str) -> None:
    url = made_url("NAME", "beir", raw)
    assert faults_in("document", {"id": safe_id(raw), "url": url, "title": "t", "body": "b"}) == []


@pytest.mark.parametrize(("name", "expected"), [("A & B Lab", "a-b-lab"), ("研究所", ""), ("x/y z", "x-y-z")])
def test_slugs(name: str, expected: str) -> None:
    assert slug(name) == expected
