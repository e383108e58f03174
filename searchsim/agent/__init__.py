"""Run an agent: an adapter in a process and environment of its own, against one world.

adapter.py     the scripts, and the environments that they need
process.py     one process: a fresh folder and HOME, a scrubbed environment, its traffic turned to the world
run.py         one run, and what came of it
handshake.py   does an agent's traffic go through its world at all?
"""

from searchsim.agent.adapter import Adapter, adapters, prepare
from searchsim.agent.handshake import handshake
from searchsim.agent.run import Run, run

__all__ = ["Adapter", "Run", "adapters", "handshake", "prepare", "run"]
