"""Print what each suite took and fail on skipped tests, from pytest's JUnit record."""

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

skipped = [c for c in cases if c.find("skipped") is not None]
for case in skipped:
    print(f"skipped: {case.get('classname')}.{case.get('name')}: {case.find('skipped').get('message')}")
print(f"{len(cases)} tests, {len(skipped)} skipped; in CI none may be")
sys.exit(bool(skipped) or not cases)
