"""Print what each suite took and fail on skipped tests, from pytest's JUnit record.

Tests of frameworks that aren't on the package index run where a checkout is named; nothing else may be skipped.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

cases = list(ElementTree.parse(sys.argv[1]).getroot().iter("testcase"))
seconds: Counter[str] = Counter()
count: Counter[str] = Counter()
for case in cases:
    suite = case.get("classname", "").split(".test_")[0] + "." + case.get("classname", "").split(".")[-1]
    seconds[suite] += float(case.get("time", 0))
    count[suite] += 1
for suite, took in sorted(seconds.items(), key=lambda pair: -pair[1]):
    print(f"{took:8.1f} s  {count[suite]:4} tests  {suite}")

_EXPECTED = re.compile(r"(DEERFLOW|DEERFLOW2|WEBTHINKER)_HOME isn't set")

skipped = [(c, c.find("skipped").get("message", "")) for c in cases if c.find("skipped") is not None]
for case, why in skipped:
    print(f"skipped: {case.get('classname')}.{case.get('name')}: {why}")
unexpected = [why for _, why in skipped if not _EXPECTED.fullmatch(why)]
print(f"{len(cases)} tests, {len(skipped)} skipped for want of a checkout or more; {len(unexpected)} that may not be")
sys.exit(bool(unexpected) or not cases)
