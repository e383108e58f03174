"""Answers held to the schemas of ``searchsim/schemas/serper``, the order of their keys included.

Recorded answers, which aren't kept here, are checked by ``python -m tests.server.serper_shapes FILE…``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from searchsim.server.openapi import wire_schemas

SCHEMAS = wire_schemas("serper")
_REGISTRY: Registry[Any] = Registry().with_resources(
    (f"{name}.json", Resource.from_contents(schema, DRAFT202012)) for name, schema in SCHEMAS.items()
)


def _validator(schema: Any) -> Draft202012Validator:
    return Draft202012Validator(schema, registry=_REGISTRY)


def shape_faults(name: str, raw: str | bytes) -> list[str]:
    """What an answer breaks of its schema, and where its keys stand otherwise than the schema says."""
    answer = json.loads(raw)
    wrong = [f"{e.json_path}: {e.message[:200]}" for e in _validator({"$ref": f"{name}.json"}).iter_errors(answer)]
    return wrong + list(_misordered(SCHEMAS[name], answer, name))


def _misordered(schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].removesuffix(".json")]
    for choice in schema.get("anyOf", ()):
        if _validator(choice).is_valid(value):
            yield from _misordered(choice, value, path)
            return
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _misordered(schema.get("items", {}), one, f"{path}[{number}]")
    elif isinstance(value, dict) and (properties := schema.get("properties")):
        known = [k for k in value if k in properties]
        orders = [list(properties), *schema.get("x-orders", ())]
        if not any(known == [k for k in order if k in value] for order in orders):
            yield f"{path}: keys stand as {known}"
        for key in known:
            yield from _misordered(properties[key], value[key], f"{path}.{key}")


def _vertical(answer: dict[str, Any]) -> str:
    """The vertical of a recorded answer: by what it echoes, else by its keys."""
    if "balance" in answer:
        return "account"
    if "statusCode" in answer:
        return "error"
    return str(answer.get("searchParameters", {}).get("type", "maps"))


def main(files: list[str]) -> int:
    """Tell what is wrong with recorded answers."""
    count = 0
    for file in files:
        text = Path(file).read_text("utf-8")
        lines = [json.dumps(json.loads(line)["body"]) for line in text.splitlines() if isinstance(json.loads(line)["body"], dict)] if file.endswith(".jsonl") else [text]  # fmt: skip
        for line in lines:
            name = _vertical(json.loads(line))
            faults = shape_faults(name, line)
            count += len(faults)
            print(f"{Path(file).name}: {name}:", "; ".join(faults) or "keeps to the schema")
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
