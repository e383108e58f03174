# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""A scripted stand-in for an agent that is at fault: it crashes."""

import json
import runpy
import sys
from pathlib import Path

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
request["settings"] |= {"crash": True}
Path(sys.argv[1]).write_text(json.dumps(request), "utf-8")
runpy.run_path(str(Path(__file__).with_name("scripted.py")))
