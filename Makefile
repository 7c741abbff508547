# Everything from a clone, with Python 3.11 or newer and access to package registries.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check web coverage bench clean

demo: .venv/installed web       ## teach a quadruped to stand under pushes, about a minute; film and curves in out/
	$(BIN)/paddock demo

test: .venv/installed-dev check ## everything CI runs
	$(BIN)/python web/building.py test
	$(BIN)/python -m pytest -n auto --dist worksteal

check: .venv/installed-dev web  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/python web/building.py check

web: .venv/installed            ## the pages of the cockpit, where their sources changed
	$(BIN)/python web/building.py --install-node

coverage: .venv/installed-dev web   ## the same tests under a tracer, which makes exports half as slow again and more
	$(BIN)/python -m pytest -n auto --dist worksteal --cov=paddock --cov-report=term:skip-covered --cov-fail-under=85

bench: .venv/installed-dev      ## steps per second against other systems, about six minutes
	$(BIN)/paddock bench --out bench/results/cpu.json

clean:
	rm -rf .venv out web/node_modules src/paddock/cockpit/client

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@
