"""The OpenAPI description of the Serper side and of control, put together from the schemas in ``searchsim/schemas``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson
from aiohttp import web

from searchsim import __version__
from searchsim.server.context import CONTEXT
from searchsim.server.serper.verticals import VERTICALS, Vertical
from searchsim.world import Worlds

__all__ = ["FOLDERS", "add_routes", "describe", "wire_schemas"]

FOLDERS = ("serper", "control")
"""Where the shapes of what goes over the wire are kept, below ``searchsim/schemas``."""

Json = dict[str, Any]


def add_routes(app: web.Application) -> None:
    """Serve the description."""
    app.router.add_get("/_sim/openapi.json", _description)


async def _description(request: web.Request) -> web.Response:
    described = describe(request.app[CONTEXT].worlds)
    return web.Response(body=orjson.dumps(described), content_type="application/json")


@cache
def wire_schemas(folder: str) -> Mapping[str, Json]:
    """The schemas of one of `FOLDERS`, by name; they refer to each other by file name."""
    there = (files("searchsim") / "schemas" / folder).iterdir()
    return {f.name.removesuffix(".json"): orjson.loads(f.read_bytes()) for f in sorted(there, key=lambda f: f.name)}


def describe(worlds: Worlds) -> Json:
    """The description, with examples of a server's corpus.

    Args:
        worlds: The server's worlds.
    """
    schemas = {
        f"{folder}.{name}": _inside(schema, folder)
        for folder in FOLDERS
        for name, schema in wire_schemas(folder).items()
    }
    schemas["control.new_world"]["properties"]["task"]["examples"] = list(worlds.corpus.tasks)[:3]
    schemas["control.new_world"]["properties"]["condition"]["examples"] = [
        {name: registered.factor.default for name, registered in worlds.factors.items()}
    ]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "searchsim: Serper and control",
            "version": __version__,
            "description": "Every path of Serper also has the prefix /w/KEY, which names a world as its API key does. "
            "A POST without a body takes all fields from the query string.",
        },
        "paths": {**dict(_serper()), **_control()},
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "header": {"type": "apiKey", "in": "header", "name": "X-API-KEY"},
                "apiKey": {"type": "apiKey", "in": "query", "name": "apiKey"},
                "api_key": {"type": "apiKey", "in": "query", "name": "api_key"},
                "control": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _inside(schema: Json, folder: str) -> Json:
    """A schema with its references as they are in one document."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return _ref(f"{folder}.{value['$ref'].removesuffix('.json')}")
            return {k: turned(v) for k, v in value.items()}
        return [turned(one) for one in value] if isinstance(value, list) else value

    return {k: turned(v) for k, v in schema.items() if k != "$schema"}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _told(description: str, schema: Json | None, kind: str = "application/json") -> Json:
    return {"description": description, **({"content": {kind: {"schema": schema}}} if schema else {})}


# --- Serper ---------------------------------------------------------------------------------------------------------

_TEXT: Json = {"type": "string", "minLength": 1, "maxLength": 2048, "pattern": r"\S"}
_URL: Json = {"type": "string", "minLength": 1, "maxLength": 8192, "pattern": r"\S"}
_NUMBER: Json = {"type": "integer", "minimum": 1, "maximum": 999_999}
_LOOSE_NUMBER: Json = {"anyOf": [_NUMBER, {"type": "string", "pattern": "^0{0,2}[1-9][0-9]{0,3}$"}]}
_FLAG: Json = {"anyOf": [{"type": "boolean"}, {"enum": ["true", "false"]}]}
_KEYS: list[Json] = [{"header": []}, {"apiKey": []}, {"api_key": []}]
_ERRORS = {
    "400": "It can't be answered",
    "403": "The key names no world",
    "413": "The body is too large",
    "429": "A planned fault",
    "500": "A planned fault, or a failure of the server",
    "503": "The engine failed",
    "504": "A planned fault",
}


def _serper() -> Iterator[tuple[str, Json]]:
    errors = {status: _told(meaning, _ref("serper.error")) for status, meaning in _ERRORS.items()}
    for name, vertical in VERTICALS.items():
        one = _ref(f"serper.{name}")
        fields = _fields(name, vertical)
        query: Json = {"type": "object", "properties": fields}
        query["anyOf"] = [{"required": [wanted]} for wanted in vertical.wants]
        batch = {"type": "array", "minItems": 1, "maxItems": 100, "items": query}
        # On /search a field may name another vertical, whose shape the answer has then.
        answers = [_ref(f"serper.{n}") for n, v in VERTICALS.items() if v.typed] if name == "search" else [one]
        whole: Json = {"anyOf": answers} if len(answers) > 1 else one
        yield (
            f"/{name}",
            {
                "get": {
                    "summary": f"{name}: a query",
                    "security": _KEYS,
                    "parameters": _parameters(fields, vertical.wants),
                    "responses": {"200": _told("The answer", whole), **errors},
                },
                "post": {
                    "summary": f"{name}: a query, or a batch of them",
                    "security": _KEYS,
                    "requestBody": _body({"anyOf": [query, batch]}),
                    "responses": {
                        "200": _told(
                            "The answer, or those of the batch", {"anyOf": [whole, {"type": "array", "items": whole}]}
                        ),
                        **errors,
                    },
                },
            },
        )
    page: Json = {"url": _URL, "includeMarkdown": _FLAG}
    read = {"200": _told("The page", _ref("serper.scrape")), **errors}
    yield (
        "/scrape",
        {
            "get": {
                "summary": "A page",
                "security": _KEYS,
                "parameters": _parameters(page, ("url",)),
                "responses": read,
            },
            "post": {
                "summary": "A page",
                "security": _KEYS,
                "requestBody": _body({"type": "object", "required": ["url"], "properties": page}),
                "responses": read,
            },
        },
    )
    yield (
        "/account",
        {
            "get": {
                "summary": "The account",
                "security": _KEYS,
                "responses": {"200": _told("The account", _ref("serper.account")), "403": errors["403"]},
            }
        },
    )


def _fields(name: str, vertical: Vertical) -> Json:
    """What a query may say, as a JSON body says it."""
    fields: Json = {wanted: _URL if wanted == "url" else _TEXT for wanted in vertical.wants}
    fields |= {n: {"type": "string"} for n in ("gl", "hl", "location", *vertical.echoes) if n not in fields}
    fields |= {"num": _LOOSE_NUMBER, "page": _LOOSE_NUMBER, "tbs": {"type": "string", "maxLength": 256}}
    fields["autocorrect"] = _FLAG
    if name == "search":
        fields["type"] = {"enum": [n for n, v in VERTICALS.items() if v.typed]}
    return fields


def _parameters(fields: Json, wants: tuple[str, ...]) -> list[Json]:
    return [
        {
            "name": name,
            "in": "query",
            "schema": _NUMBER if schema is _LOOSE_NUMBER else {"type": "boolean"} if schema is _FLAG else schema,
            **({"required": True} if wants == (name,) else {}),
        }
        for name, schema in fields.items()
    ]


def _body(schema: Json) -> Json:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


# --- control --------------------------------------------------------------------------------------------------------


def _control() -> Json:
    def operation(summary: str, answers: Json, failures: tuple[int, ...] = (), **more: Any) -> Json:
        refused = {
            str(status): _told("Refused: the message says why", _ref("control.error"))
            for status in (401, 403, *failures)
        }
        return {"summary": summary, "security": [{}, {"control": []}], "responses": {**answers, **refused}, **more}

    def shown(name: str) -> Json:
        return {"200": _told("As asked", _ref(f"control.{name}"))}

    key = [{"name": "key", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}]
    return {
        "/_sim/health": {"get": operation("The server's state", shown("health"))},
        "/_sim/tasks": {"get": operation("The corpus's tasks", shown("tasks"))},
        "/_sim/factors": {"get": operation("The factors", shown("factors"))},
        "/_sim/worlds": {
            "get": operation("All worlds", shown("worlds")),
            "post": operation(
                "Make a world",
                {"201": _told("The world", _ref("control.world"))},
                (400, 409, 413),
                requestBody=_body(_ref("control.new_world")),
            ),
        },
        "/_sim/worlds/{key}": {
            "get": operation("A world with what it did serve", shown("world"), (404,), parameters=key),
            "delete": operation("End a world", {"204": _told("Ended", None)}, (404,), parameters=key),
        },
        "/_sim/worlds/{key}/events": {
            "get": operation(
                "A world's trace, oldest first",
                {"200": _told("An event a line", {"type": "string"}, "application/x-ndjson")},
                (404,),
                parameters=key,
            )
        },
    }
