# Two commands on a fresh machine: make demo, make test. Everything lives in .venv; constraints.txt pins it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test mutants lint format bench bench-data reproduce clean

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "proxcode needs Python 3.11 or newer; name one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv/.ready
	$(BIN)/proxcode demo --output demo

test: .venv/.ready
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

mutants: .venv/.ready
	$(BIN)/python tests/mutants.py

lint: .venv/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: .venv/.ready
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/.ready
	$(BIN)/python benchmarks/fit_scaling.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/fit_memory.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/encode_memory.py
	$(BIN)/python benchmarks/newcomer.py

bench-data: .venv/.ready
	$(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/cut.py biqmac
	$(BIN)/python benchmarks/cut.py signed
	$(BIN)/python benchmarks/cut.py gset

reproduce: .venv/.ready
	$(BIN)/proxcode reproduce all --output docs/results

clean:
	rm -rf .venv demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
