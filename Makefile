# Every target sets up what it needs first; a second run finds it done.
PYTHON ?= python3
BIN := .venv/bin
RUNS := .venv/.runs
TOOLS := .venv/.tools
READY := .venv/.ready
# Commands that tests start import didact each time: without bytecode that takes a third longer.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install setup dist oracle axe demo test test-all test-lowest agents test-agents mutation lint types docs check \
	bench reproduction lock clean
.DEFAULT_GOAL := demo

# What didact itself needs. Modules are byte-compiled when they are first imported: most never are.
# A lock holds all that its parts need, so pip looks for nothing else (--no-deps): older ones would
# take `coverage[toml]` for something that is not pinned as soon as there is a newer coverage.
LOCKED := -m pip install --quiet --no-deps --require-hashes
install: $(RUNS)

$(RUNS): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(LOCKED) --no-compile -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .
	touch $(RUNS)

# The developers' tools on top.
$(TOOLS): $(RUNS) requirements-dev.lock
	$(BIN)/python $(LOCKED) -r requirements-dev.lock
	touch $(TOOLS)

# And every kernel compiled, so that no test waits for that.
setup: $(READY)

$(READY): $(TOOLS)
	$(BIN)/python -m didact.warm
	touch $(READY)

# cddlib's exact arithmetic (GPL, for tests only) is built from source: a compiler, libcdd and GMP.
oracle: setup
	@$(BIN)/python -c "import cdd.gmp" 2>/dev/null || $(BIN)/python -m pip install --quiet pycddlib==3.0.2

# The rules for pages that all can use (axe-core, for tests only), pinned in tests/package.json.
AXE := tests/node_modules/axe-core/axe.min.js
axe: $(AXE)

$(AXE): tests/package.json
	@if command -v npm >/dev/null; then \
	    npm install --prefix tests --silent --no-package-lock --ignore-scripts --no-audit --no-fund \
	        && touch $(AXE) || echo "axe-core cannot be had here: its rules are skipped"; \
	else echo "there is no npm: the rules of axe are skipped"; fi

demo: install
	@$(BIN)/python examples/demo.py demo

test: setup axe
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

# What the quick tests run of the package is measured; the slow ones would take hours more by that.
# Both take random examples: their seed is printed, and `make test-all SEED=n` repeats a run.
SEED := $(shell date +%s)
test-all: setup axe
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" --hypothesis-seed=$(SEED) \
	    --cov --cov-report=term:skip-covered
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --hypothesis-seed=$(SEED)

# The quick tests with the lowest versions that pyproject.toml allows, apart from .venv (needs uv),
# but for those whose text or digits belong to the newest ones; without heavy simulators.
LOWEST := .venv-lowest
EXTRAS := arviz dask figures imitation minari minigrid notebook plots studio
test-lowest:
	uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	uv pip install --quiet --python $(LOWEST) --resolution lowest-direct \
	    $(EXTRAS:%=--extra %) -r pyproject.toml
	uv pip install --quiet --python $(LOWEST) hypothesis pytest pytest-xdist
	uv pip install --quiet --python $(LOWEST) --no-deps -e .
	$(LOWEST)/bin/python -m didact.warm
	$(LOWEST)/bin/python -m pytest -q -n 2 --dist worksteal -m "not slow" --ignore=tests/edges/test_page.py \
	    --ignore=tests/edges/test_cli_reference.py --ignore=tests/test_docs.py \
	    --ignore=tests/paper/test_reproduction.py

# The tests that need agents of Stable-Baselines3, Box2D or MuJoCo, apart from .venv. One thread for
# each process: torch's threads would wait for each other.
AGENTS := .venv-agents
agents: $(AGENTS)/.ready

$(AGENTS)/.ready: requirements-agents.txt requirements.lock requirements-dev.lock
	$(PYTHON) -m venv $(AGENTS)
	$(AGENTS)/bin/python $(LOCKED) -r requirements.lock
	$(AGENTS)/bin/python $(LOCKED) -r requirements-dev.lock
	$(AGENTS)/bin/python -m pip install --quiet -r requirements-agents.txt
	$(AGENTS)/bin/python -m pip install --quiet --no-build-isolation --no-deps -e .
	touch $(AGENTS)/.ready

test-agents: agents
	OMP_NUM_THREADS=1 $(AGENTS)/bin/python -m pytest -q -n 2 --dist worksteal tests/worlds/gym \
	    tests/worlds/simulators tests/edges/test_cli_observe.py

# Changes the code in one place after another and counts the changes that no test notices.
mutation: setup
	$(BIN)/python -m tests.mutation proofcheck.py
	$(BIN)/python -m tests.mutation bec --sample 20

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(TOOLS)
	$(BIN)/mypy

docs: $(TOOLS)
	$(BIN)/sphinx-build -q -W -E docs docs/_build

check: lint types docs

bench: setup
	$(BIN)/python -m benchmarks

# Runs every study in full, or what is left of it, into the results that the docs show. Trials that
# an older revision left there count as done: remove docs/reproduction/*.sqlite to run all anew.
reproduction: setup
	$(BIN)/didact reproduce all --out docs/reproduction

# Pins every dependency anew (needs uv: `pip install uv`). The developers' lock holds the other one.
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --quiet
lock:
	$(COMPILE) --upgrade --group build pyproject.toml -o requirements.lock
	$(COMPILE) --upgrade --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock

# Wheel and sdist, and a lesson with its proof from the wheel alone in an empty environment.
DIST := dist
dist: $(TOOLS)
	rm -rf $(DIST)
	$(BIN)/python -m hatchling build -d $(DIST)
	$(PYTHON) -m venv $(DIST)/venv
	$(DIST)/venv/bin/python -m pip install --quiet $(DIST)/*.whl
	cd $(DIST) && venv/bin/didact teach six-cell --out lesson.json --json > /dev/null \
	    && venv/bin/didact check six-cell lesson.json --proof
	rm -rf $(DIST)/venv $(DIST)/lesson.json

clean:
	rm -rf .venv $(LOWEST) $(AGENTS) docs/_build tests/node_modules
