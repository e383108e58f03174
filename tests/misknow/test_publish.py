from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import urlsplit

from searchsim.corpus import Corpus
from searchsim.documents import KINDS
from searchsim.misknow.publish import page_url, publication_day

TODAY = date(2026, 9, 1)


def test_days_lie_three_to_thirty_six_months_back_and_are_spread() -> None:
    days = {publication_day(f"d{n}", TODAY) for n in range(2000)}
    assert max(days) <= TODAY - timedelta(days=90)
    assert min(days) >= TODAY - timedelta(days=1095)
    assert len(days) > 800
    assert publication_day("d1", TODAY) == publication_day("d1", TODAY)


def test_addresses_are_of_their_kind_and_distinct() -> None:
    urls = {page_url("a.org", kind, "slug", TODAY, f"{kind}{n}") for kind in KINDS for n in range(50)}
    assert {urlsplit(u).hostname for u in urls} == {"a.org"}
    assert len(urls) > 100


def test_organic_and_misleading_documents_take_their_addresses_from_one_place(quickstart: Corpus) -> None:
    for document in quickstart.documents():
        day = publication_day(document.id, quickstart.today)
        assert document.published == day
        slug = "slug"
        ours = page_url(document.host, document.kind, slug, day, document.id).replace("slug", "")
        fixed = [piece for piece in urlsplit(ours).path.split("/") if piece and piece.isalpha()]
        assert all(piece in document.url for piece in fixed)
