# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""A scripted stand-in for an agent: it searches and asks the model as its settings say, and nothing is in its head."""

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any


def post(url: str, body: dict[str, Any], key: str) -> Any:
    """Send JSON and read JSON."""
    headers = {"Content-Type": "application/json", "X-API-KEY": key, "Authorization": f"Bearer {key}"}
    sent = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(sent, timeout=60) as answer:
        return json.load(answer)


request, settings = json.loads(Path(sys.argv[1]).read_text("utf-8")), {}
settings = request["settings"]
found: list[dict[str, Any]] = []


def ask(text: str) -> str:
    """Ask the model."""
    body = {"model": request["model"], "messages": [{"role": "user", "content": text}]}
    answer = post(f"{request['model_url']}/chat/completions", body, request["key"])
    return str(answer["choices"][0]["message"]["content"])


for number in range(settings.get("searches", 2)):
    if settings.get("thinks"):
        ask(f"{request['prompt']} What next, after {' '.join(r['link'] for r in found)}?")
    rows = post(f"{request['search']}/search", {"q": f"{request['prompt']} {number}" * (number < 9)}, request["key"])
    found += rows["organic"][:3] + rows["organic"][10:]
time.sleep(settings.get("seconds", 0))
if settings.get("crash"):
    sys.exit("the stand-in was told to crash")
evidence = "\n".join(f"{r['title']} {r['link']} {r['snippet']}" for r in found)
answer = ask(f"{request['prompt']}\n{evidence}")
report = "" if settings.get("silent") else answer
cited = [r["link"] for r in found[: settings.get("cites", 1)]]
Path(sys.argv[2]).write_text(
    json.dumps({"report": report and "\n".join([report, *cited]), "versions": {"scripted": "1"}}), "utf-8"
)
