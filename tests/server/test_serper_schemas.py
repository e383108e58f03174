"""The schemas take what the live API sends, and nothing that it doesn't.

The samples are made up; their keys and the order of them are those of recorded answers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.server.serper_shapes import SCHEMAS, main, shape_faults

ROW: dict[str, Any] = {"title": "A trail", "link": "https://trail.example/", "snippet": "Steep."}
SAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "a plain list without credits, of 2024": (
        "search",
        {
            "searchParameters": {"q": "steep trails", "type": "search", "engine": "google"},
            "organic": [
                {**ROW, "position": 1},
                {
                    **ROW,
                    "attributes": {"Missing": "steep | Show results with:steep"},
                    "rating": 4.6,
                    "ratingCount": 12,
                    "currency": "$",
                    "price": 29,
                    "position": 2,
                },
                {**ROW, "date": "Apr 29, 2024", "position": 8},
            ],
            "peopleAlsoAsk": [{"question": "How steep?", "snippet": "Very.", "title": "Trails", "link": "https://t.example"}],
            "relatedSearches": [{"query": "flat trails"}],
        },
    ),
    "everything, of 2025": (
        "search",
        {
            "searchParameters": {"q": "Trail Inc.", "gl": "us", "hl": "en", "type": "search", "num": 10, "engine": "google"},
            "knowledgeGraph": {
                "title": "Trail",
                "type": "Company",
                "website": "http://trail.example/",
                "imageUrl": "https://i.example/1",
                "description": "Makes bicycles.",
                "descriptionSource": "An encyclopedia",
                "descriptionLink": "https://e.example/Trail",
                "attributes": {"Founded": "1976"},
            },
            "organic": [
                {**ROW, "sitelinks": [{"title": "Jobs", "link": "https://trail.example/jobs"}], "position": 1},
                {**ROW, "date": "5 days ago", "position": 4},
            ],
            "images": [{"title": "Trail", "imageUrl": "https://i.example/1.svg", "link": "https://e.example/Trail"}],
            "peopleAlsoAsk": [{"question": "What?", "snippet": "That.", "title": "T", "link": "https://e.example"}],
            "relatedSearches": [{"query": "trail"}],
            "credits": 1,
        },
    ),
    "page before type and no engine, of 2022": (
        "search",
        {
            "searchParameters": {"q": "trail", "gl": "us", "hl": "en", "autocorrect": True, "page": 1, "type": "search"},
            "organic": [
                {**ROW, "attributes": {"Products": "Bells"}, "sitelinks": [{"title": "H", "link": "https://h.example"}], "position": 2},
                {**ROW, "date": "Aug 31, 2022", "attributes": {"Date": "1976 - present"}, "position": 3},
            ],
        },
    ),
    "a picture in a row, of 2023": (
        "search",
        {
            "searchParameters": {"q": "who?", "gl": "us", "hl": "en", "autocorrect": True, "type": "search"},
            "organic": [{**ROW, "date": "Mar 10, 2023", "imageUrl": "https://i.example/2", "position": 3}],
            "relatedSearches": [{"query": "whom?"}],
        },
    ),
    "a short answer": (
        "search",
        {
            "searchParameters": {"q": "谁?", "type": "search", "num": 3, "engine": "google"},
            "answerBox": {"title": "Season / Champion", "answer": "The Bells"},
            "knowledgeGraph": {"title": "A season", "imageUrl": "https://i.example/3", "description": "The 78th."},
            "organic": [{**ROW, "position": 1}],
        },
    ),
    "a featured snippet": (
        "search",
        {
            "searchParameters": {"q": "优惠", "gl": "cn", "hl": "zh-cn", "type": "search", "engine": "google"},
            "answerBox": {"snippet": "有几点：一。", "snippetHighlighted": ["一"], "title": "政策", "link": "https://c.example"},
            "organic": [{**ROW, "date": "2024年4月23日", "position": 1}],
        },
    ),
    "a later page": (
        "search",
        {
            "searchParameters": {"q": "who", "type": "search", "page": 5, "engine": "google"},
            "organic": [{**ROW, "date": "May 10, 2026", "position": 1}],
            "credits": 1,
        },
    ),
    "news": (
        "news",
        {
            "searchParameters": {"q": "Trail", "gl": "us", "hl": "en", "type": "news", "num": 10, "tbs": "qdr:h", "engine": "google"},
            "news": [{**ROW, "date": "3 minutes ago", "source": "The Bell", "imageUrl": "https://i.example/4", "position": 1}],
            "credits": 1,
        },
    ),
    "images, whose num is told last": (
        "images",
        {
            "searchParameters": {"q": "trail", "type": "images", "engine": "google", "num": 10},
            "images": [
                {
                    "title": "Trail",
                    "imageUrl": "https://i.example/5.jpg",
                    "imageWidth": 814,
                    "imageHeight": 1000,
                    "thumbnailUrl": "https://i.example/5s.jpg",
                    "thumbnailWidth": 202,
                    "thumbnailHeight": 249,
                    "source": "An encyclopedia",
                    "domain": "e.example",
                    "link": "https://e.example/Trail",
                    "googleUrl": "https://g.example/?i=5",
                    "copyright": "A. Person",
                    "creator": "A. Person",
                    "credit": "AGENCY",
                    "position": 10,
                }
            ],
            "credits": 1,
        },
    ),
    "places, whose position stands first": (
        "places",
        {
            "searchParameters": {"q": "bicycle shops", "gl": "us", "hl": "en", "type": "places", "num": 10, "engine": "google"},
            "places": [
                {
                    "position": 1,
                    "title": "The Bell",
                    "address": "1 Trail Road",
                    "latitude": 40.7,
                    "longitude": -73.9,
                    "rating": 5,
                    "ratingCount": 2900,
                    "priceLevel": "$$",
                    "category": "Bicycle shop",
                    "phoneNumber": "(212) 555-0100",
                    "website": "http://bell.example/",
                    "cid": "1820798058748048984",
                }
            ],
            "credits": 1,
        },
    ),
    "maps, of which only this was recorded": (
        "maps",
        {
            "ll": "@10.7,106.7,14z",
            "places": [
                {
                    "position": 1,
                    "title": "Cà phê",
                    "address": "Đ. Số 1",
                    "latitude": 10.7,
                    "longitude": 106.7,
                    "rating": 4.4,
                    "ratingCount": 150,
                    "priceLevel": "1-100.000 ₫",
                    "type": "Quán cà phê",
                    "types": ["Quán cà phê"],
                    "website": "https://c.example/",
                    "phoneNumber": "+84 973",
                    "openingHours": {"Thứ Tư": "06:30–15:00"},
                    "thumbnailUrl": "https://i.example/6",
                    "cid": "10651910879951459236",
                    "fid": "0x31:0x93",
                    "placeId": "ChIJ1",
                }
            ],
        },
    ),
    "the account": ("account", {"balance": 2492, "rateLimit": 5}),
    "a bad key": ("error", {"message": "Unauthorized.", "statusCode": 403}),
    "a query that a free account may not ask": ("error", {"message": "Query pattern not allowed for free accounts."}),
    "a page": (
        "scrape",
        {
            "text": "T",
            "markdown": "# T",
            "metadata": {"title": "T", "og:width": 3},
            "jsonld": {"@type": "Article"},
            "credits": 2,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_they_are_schemas_and_say_what_they_are_of(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["title"] and SCHEMAS[name]["description"]


@pytest.mark.parametrize("label", SAMPLES)
def test_answers_as_recorded(label: str) -> None:
    name, answer = SAMPLES[label]
    assert shape_faults(name, json.dumps(answer)) == []


def test_what_the_live_api_does_not_send() -> None:
    name, whole = SAMPLES["everything, of 2025"]
    plain = {"searchParameters": whole["searchParameters"], "organic": [{**ROW, "position": 1}], "credits": 1}
    for wrong in (
        {k: v for k, v in plain.items() if k != "organic"},
        {**plain, "organic": None},
        {**plain, "organic": {}},
        {**plain, "results": []},
        {"organic": [], **plain},
        {**plain, "organic": [{"position": 1, **ROW}]},
        {**plain, "organic": [{**ROW, "position": 0}]},
        {**plain, "organic": [{**ROW, "position": "1"}]},
        {**plain, "organic": [ROW]},
        {**plain, "credits": "1"},
        {**plain, "searchParameters": {"type": "search", "q": "x"}},
        {**plain, "searchParameters": {"q": "x", "type": "search", "num": "10"}},
        {"searchParameters": plain["searchParameters"], "credits": 1, "organic": []},
    ):
        assert shape_faults(name, json.dumps(wrong)), wrong


def test_recordings_are_checked_by_file(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, errors = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "errors.jsonl"
    good.write_text(json.dumps(SAMPLES["news"][1]))
    bad.write_text(json.dumps({**SAMPLES["news"][1], "news": None}))
    errors.write_text('{"body": {"message": "Unauthorized.", "statusCode": 403}}\n{"body": "unknown"}\n')
    assert main([str(good), str(errors)]) == 0
    assert main([str(good), str(bad)]) == 1
    assert "bad.json: news: $.news" in capsys.readouterr().out
