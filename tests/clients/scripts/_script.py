"""What every script here does: read the request, write the answer."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
setting = request["way"] == "setting"
url, key, query, page = (request[name] for name in ("url", "key", "query", "page"))


def rows(found, title=None, link=None, text=None, body=None):
    """A client's results under one set of names; what it doesn't give is left out."""
    names = {"title": title, "link": link, "text": text, "body": body}
    return [{ours: row[theirs] for ours, theirs in names.items() if theirs} for row in found]


def answer(package, results):
    """Write what came of the calls, in their order."""
    told = {"version": version(package), "calls": list(results), "results": results}
    Path(sys.argv[2]).write_text(json.dumps(told, ensure_ascii=False), "utf-8")
