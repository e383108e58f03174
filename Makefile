# make demo, make test and make check each work as the first command after a clone: they need python3 with pip, make,
# and a package index. Everything they install goes into .venv.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check format lock elasticsearch elasticsearch-stop wheel clean

help:
	@echo "make demo    a small study on a toy model, from contract to report"
	@echo "make test    the tests"
	@echo "make check   ruff, mypy, and the tests of the docs"
	@echo "make format  put the code in ruff's form"
	@echo "make lock    compile requirements.txt anew"
	@echo "make elasticsearch       start an Elasticsearch for development and print its URL"
	@echo "make elasticsearch-stop  end it"
	@echo "make wheel   build the wheel into dist/"
	@echo "make clean   remove .venv and caches"

# pip --target works with an externally managed Python, and venv --without-pip where ensurepip is missing.
$(READY): requirements.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "there is no $(PYTHON): make PYTHON=... names another" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "searchsim needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || \
	  { echo "$(PYTHON) has no pip: install python3-pip, or name another with make PYTHON=..." >&2; exit 1; }
	@echo "preparing .venv" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip .venv
	@test -x .venv/uv/bin/uv || $(PYTHON) -m pip install --quiet --disable-pip-version-check \
	  --no-warn-script-location --root-user-action ignore --target .venv/uv uv
	@.venv/uv/bin/uv pip install --quiet --no-deps --python $(BIN)/python -r requirements.txt
	@.venv/uv/bin/uv pip install --quiet --no-deps --python $(BIN)/python --editable .
	@touch $@

demo: $(READY)
	@$(BIN)/searchsim demo --out demo

test: $(READY)
	@$(BIN)/python -m pytest $(PYTEST)

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_docs.py

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: $(READY)
	@.venv/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group dev --no-header \
	  --no-annotate --upgrade -o requirements.txt pyproject.toml

elasticsearch: $(READY)
	@$(BIN)/python tools/elasticsearch/node.py start

elasticsearch-stop: $(READY)
	@$(BIN)/python tools/elasticsearch/node.py stop

wheel: $(READY)
	@.venv/uv/bin/uv build --quiet --wheel

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache dist demo
