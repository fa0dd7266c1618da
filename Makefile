# Two commands on a fresh machine: make demo, make test. Everything lives in .venv; constraints.txt pins it.
# Another version of Python gets a folder of its own: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
ENGINES := .venv-engines
PAGE := examples/browser
NPM_INSTALL := npm install --no-package-lock --no-audit --no-fund --prefix
# Tests run in several processes: more threads of OpenMP would wait for one another. BLAS keeps two threads, since tests
# compare bits between numbers of threads.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=2

.PHONY: demo test test-slow test-lowest test-engines browser test-browser docs dist mutants lint format bench bench-data reproduce figures clean

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "proxcode needs Python 3.11 or newer; name one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/proxcode demo --output demo

test: $(VENV)/.ready
	$(THREADS) $(BIN)/python -m pytest -m 'not slow' --numprocesses auto --maxprocesses 4 --dist loadfile

# Processes that are killed, whole experiments and deployments: minutes more.
test-slow: $(VENV)/.ready
	$(THREADS) $(BIN)/python -m pytest -m slow --numprocesses auto --maxprocesses 4 --dist loadfile

$(LOWEST)/.ready: pyproject.toml tests/helpers/lowest_versions.py
	$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 13) else "the lowest versions need Python 3.11 or 3.12; name one with: make test-lowest PYTHON=python3.11")'
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python tests/helpers/lowest_versions.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/constraints.txt --editable '.[dev]'
	touch $@

# The suite with the lowest versions that pyproject.toml accepts, which may use what their own libraries have deprecated.
test-lowest: $(LOWEST)/.ready
	$(THREADS) $(LOWEST)/bin/python -m pytest -W ignore::DeprecationWarning --numprocesses auto --maxprocesses 4 --dist loadfile

$(ENGINES)/.ready: pyproject.toml constraints.txt constraints-engines.txt
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --constraint constraints-engines.txt --editable '.[tables,dask,ray,spark]' pytest
	touch $@

# Samples in files on Dask, Ray and Spark, which needs Java (Debian: default-jre-headless); make test has Dask alone.
test-engines: $(ENGINES)/.ready
	$(THREADS) $(ENGINES)/bin/python -m pytest tests/engines

$(PAGE)/.installed: $(PAGE)/package.json
	command -v npm > /dev/null || { echo "the page needs node 20.19 or newer with npm (Debian: nodejs npm)" >&2; exit 1; }
	$(NPM_INSTALL) $(PAGE)
	touch $@

# The page of examples/browser: the model, codes of digits and the runtime in one folder, for any static server.
browser: $(VENV)/.ready $(PAGE)/.installed
	$(BIN)/python $(PAGE)/build_model.py
	npm run build --prefix $(PAGE)
	@echo "Built $(PAGE)/dist. Run python3 -m http.server --bind 127.0.0.1 --directory $(PAGE)/dist and open http://127.0.0.1:8000"

$(VENV)/.ready-browser: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt playwright
	touch $@

# Pages in Chromium: Debian's package chromium, or the one of npm. The page of examples/browser is built with node.
test-browser: $(VENV)/.ready-browser browser
	$(BIN)/python tests/browser/chromium.py > /dev/null 2>&1 || $(NPM_INSTALL) tests/browser
	PROXCODE_CHROMIUM=$$($(BIN)/python tests/browser/chromium.py) $(THREADS) $(BIN)/python -m pytest tests/browser

$(VENV)/.ready-dist: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt build
	touch $@

# The sdist, the wheel built from it, and the smoke test of that wheel in an empty environment.
dist: $(VENV)/.ready-dist
	rm -rf dist build/smoke
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/proxcode-*.whl
	cd build/smoke && bin/python -I ../../tests/smoke.py

$(VENV)/.ready-docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $@

# The documentation site in build/docs; a warning is an error. Examples are run again where they have changed.
docs: $(VENV)/.ready-docs
	rm -rf docs/api/generated
	start=$$(date +%s) && $(THREADS) $(BIN)/python -m sphinx --nitpicky --fail-on-warning --keep-going --quiet docs build/docs \
	  && echo "build/docs/index.html was built in $$(($$(date +%s) - start)) s"

mutants: $(VENV)/.ready
	$(BIN)/python tests/mutants.py

lint: $(VENV)/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.ready
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/fit_scaling.py
	$(BIN)/python benchmarks/fit_speed.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/faults.py
	$(BIN)/python benchmarks/fit_memory.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/sharded.py
	$(BIN)/python benchmarks/dedupe.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/stores.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/encode_memory.py
	$(BIN)/python benchmarks/newcomer.py

bench-data: $(VENV)/.ready
	$(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/update.py
	$(BIN)/python benchmarks/scale.py --parquet
	$(BIN)/python benchmarks/cut.py biqmac
	$(BIN)/python benchmarks/cut.py signed
	$(BIN)/python benchmarks/cut.py gset

# Measures what is not stored yet, or was computed by other code; experiments whose result is a time run alone.
reproduce: $(VENV)/.ready
	$(BIN)/proxcode reproduce all --jobs 2 --output docs/results

# Makes tables, figures and the numbers in README and docs again from the result files; measures nothing.
figures: $(VENV)/.ready
	$(BIN)/proxcode reproduce all --output docs/results --from-files
	$(BIN)/python benchmarks/figures.py --copy

clean:
	rm -rf .venv .venv-* demo build dist docs/gallery docs/api/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf $(PAGE)/node_modules $(PAGE)/.installed $(PAGE)/public $(PAGE)/dist tests/browser/node_modules
