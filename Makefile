# make demo | quick | test | test-all | docs | fuzz | lint | types | venv | wheel | bench | papers | pictures | clean
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What is installed is compiled when it is first imported: half of what pip takes is compiling what nobody imports.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# `make test WORKERS=0` runs the tests in one process, for a debugger. Browsers and Spark wait much of their time: the
# rest has a process more than there are cores.
WORKERS ?= auto
MORE    := $(shell expr $$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1) + 1)
PYTEST  = $(BIN)/pytest -n $(WORKERS) --dist loadgroup
# Every process of a run reads what the first one has compiled of Python, of the tests and of the package.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-all rest ready warm-up warm-up-lattice warm-up-others docs programs browser java postgresql ssh lint format types pytest fuzz venv wheel bench papers pictures constraints clean

help:
	@echo "make demo         the main job on the embedded Adult table, from a fresh clone"
	@echo "make quick        while one works: lint, the rules of the house, the rooms that compute (about 3 minutes)"
	@echo "make test         before every change: lint, types, every room (about 11 minutes, and 5 more in a fresh clone)"
	@echo "make test-all     everything: browsers, Spark, PostgreSQL, papers, benchmarks, … (about 50 minutes)"
	@echo "make docs         the pages as a site that needs no network: site/index.html"
	@echo "make lint         Python by ruff, JavaScript by oxlint and oxfmt"
	@echo "make format       let these rewrite what they can"
	@echo "make types        mypy --strict"
	@echo "make pytest       the tests alone; WORKERS=0 for one process, ARGS='-k name' for some"
	@echo "make fuzz         random cases against an oracle; CASES=1000 SEED=1 JOBS=1, ARGS='--only front' for some"
	@echo "make bench        the benchmarks; ARGS='lattice cuts --quick' for some, in tiny sizes"
	@echo "make papers       the five papers rebuilt, into kpareto-papers; ARGS='poka --quick' for one, in about a minute"
	@echo "make pictures     the pictures of the page in docs, light and dark; ARGS='--look FOLDER' for three widths;"
	@echo "                  ARGS='--look FOLDER --walk TABLE.csv' from any table to its release, clicks counted"
	@echo "make venv         .venv with the development extras"
	@echo "make wheel        dist/kpareto-….whl, with compiled code for the Python and numba of .venv"
	@echo "make constraints  rewrite constraints.txt from the newest versions that install here"
	@echo "make clean        remove everything that make made"

# The stamps make a second call instant; they are renewed when the dependencies change.
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "kpareto needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo-stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[plots]'
	@touch $@

$(VENV)/.dev-stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo-stamp $(VENV)/.docs-stamp

$(VENV)/.docs-stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[docs]'
	@touch $@

venv: $(VENV)/.dev-stamp

demo: $(VENV)/.demo-stamp
	$(BIN)/kpareto demo

# Strict: a link, an anchor or a page that is not there ends it.
docs: $(VENV)/.docs-stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open site/index.html"

# The rings (tests/rings.py): quick while one works, test before every change, test-all before a release.
quick: lint
	$(PYTEST) -m quick --hypothesis-profile=quick $(ARGS)

test: ready
	$(PYTEST) -m 'quick or test' $(ARGS)

test-all: ready
	$(PYTEST) $(ARGS)

# What test-all has and test has not: continuous integration runs both.
rest: programs $(VENV)/.dev-stamp
	$(PYTEST) -m rest $(if $(filter auto,$(WORKERS)),-n $(MORE)) $(ARGS)

# In a fresh clone pip and apt-get wait for the network: at the same time; then mypy beside compiling.
ready:
	@$(MAKE) --no-print-directory -j2 programs $(VENV)/.dev-stamp
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory -j2 types warm-up

# In a fresh clone: what every process of the tests would compile for itself, on both cores, mypy beside it.
warm-up: warm-up-lattice warm-up-others
warm-up-lattice warm-up-others: $(VENV)/.dev-stamp
	$(BIN)/python -m tests.warm_up $(patsubst warm-up-%,%,$@)

# With compiled code for the Python, numba and platform at hand (src/kpareto/kernels/ready.py); elsewhere it compiles.
wheel: $(VENV)/.dev-stamp
	NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= $(BIN)/python -m tests.warm_up wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	rm -rf src/kpareto/kernels/ready

# One after the other (each asks for the one before it): apt-get has one lock.
programs: ssh

# The tests of the page drive Debian's Chromium; where it is missing and cannot be installed they are skipped.
browser:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "No chromium: tests of the page are skipped."

# The tests of Spark need Java, and those of programs for ARX its compiler; where they are missing and cannot be installed
# these are skipped.
java: browser
	@command -v javac >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && { apt-get install -y -qq openjdk-17-jdk-headless >/dev/null 2>&1 || \
	    apt-get install -y -qq default-jdk-headless >/dev/null; }; } || \
	  echo "No Java: tests of Spark and of programs for ARX are skipped."

# The tests of databases start a PostgreSQL of their own; where it cannot be installed they are skipped.
postgresql: java
	@command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
	  [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq postgresql >/dev/null; } || \
	  echo "No PostgreSQL: tests of databases are skipped."

# Signatures are compared with those of OpenSSH; where it is missing and cannot be installed that is skipped.
ssh: postgresql
	@command -v ssh-keygen >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq openssh-client >/dev/null; } || echo "No OpenSSH: its comparison is skipped."

SCRIPTS := src/kpareto/faces/web/static/*.js docs/*.js
lint: $(VENV)/.dev-stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint $(SCRIPTS)
	$(BIN)/oxfmt --check $(SCRIPTS)

format: $(VENV)/.dev-stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/oxlint --fix $(SCRIPTS)
	$(BIN)/oxfmt $(SCRIPTS)

types: $(VENV)/.dev-stamp
	$(BIN)/mypy --strict

pytest: $(VENV)/.dev-stamp
	$(PYTEST) $(ARGS)

# Nights: make fuzz CASES=100000 SEED=7 JOBS=8 ARGS='--json fuzz.json'
CASES ?= 1000
SEED  ?= 1
JOBS  ?= 1
fuzz: $(VENV)/.dev-stamp
	$(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED) --jobs $(JOBS) $(ARGS)

# Silent, so that ARGS='--json -' prints nothing but JSON.
bench: $(VENV)/.dev-stamp
	@$(BIN)/python -m benchmarks $(ARGS)

papers: $(VENV)/.dev-stamp
	@$(BIN)/python -m replication $(ARGS)

pictures: browser $(VENV)/.dev-stamp
	$(BIN)/python -m tests.pictures $(ARGS)

# A throw-away environment without constraints; only names and versions are kept, so no host can slip in.
constraints:
	rm -rf $(VENV)-constraints
	$(PYTHON) -m venv $(VENV)-constraints
	$(VENV)-constraints/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	{ echo "# Versions the tests passed with; make uses them as pip install -c. Renew with: make constraints"; \
	  $(VENV)-constraints/bin/python -m pip freeze --exclude-editable | grep -E '^[A-Za-z0-9._-]+==[^ ]+$$'; } > constraints.txt
	rm -rf $(VENV)-constraints

clean:
	rm -rf $(VENV) $(VENV)-constraints .mypy_cache .ruff_cache .pytest_cache .hypothesis .numba_cache build dist src/kpareto/kernels/ready kpareto-demo kpareto-papers site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
