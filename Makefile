# One name per chore. `make` alone lists them.

.DEFAULT_GOAL := help
SETUP := .venv/.setup
# As in src/dialin/cli/__init__.py, for tests and benchmarks.
export OPENBLAS_NUM_THREADS ?= 1

help:  ## list the chores
	@sed -n 's/^\([a-z][a-z-]*\):.*##[ ]*\(.*\)$$/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(SETUP) driver  ## make .venv, after which .venv/bin/dialin is the command
	@mkdir -p .venv/share/man/man1
	@.venv/bin/python scripts/man_page.py >.venv/share/man/man1/dialin.1
	@echo "dialin is set up: .venv/bin/dialin"

driver: $(SETUP)  ## build the load driver, dialin-load, if cargo is installed
	@scripts/driver.sh build

$(SETUP): requirements.lock pyproject.toml scripts/setup.sh scripts/requirements-uv.lock
	@scripts/setup.sh
	@touch $@

wheel: $(SETUP)  ## build dist/*.whl, which hold dialin and its load driver; needs cargo
	@scripts/wheel.sh

test-wheel: wheel  ## install the wheel of this machine as an ordinary user without cargo, and run a study
	@scripts/test-wheel.sh

try: $(SETUP) driver  ## install what is missing and run a real study of a few minutes
	@scripts/try.sh

try-tune: $(SETUP) driver  ## install what is missing and tune a real server for about 15 minutes; SERVER=mariadb@10.11 for another one
	@scripts/try-tune.sh $(SERVER)

try-fleet: $(SETUP) driver  ## install Ray and run two studies on three nodes of this machine for a few minutes, one of which is lost
	@scripts/try-fleet.sh

test: $(SETUP)  ## run all tests, those on real servers too
	@scripts/test.sh

test-all: $(SETUP)  ## run all tests on every build that dialin can install
	@scripts/test.sh all

lint: $(SETUP)  ## check style and types, of the load driver too, and who imports whom
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	@scripts/driver.sh lint

bench: $(SETUP) driver  ## run the benchmarks that need no arguments and no quiet machine (hours)
	@scripts/bench.sh

bench-driver: $(SETUP) driver  ## measure what dialin-load and sysbench cost, on a quiet machine; writes benchmarks/results/driver.json
	.venv/bin/python benchmarks/driver.py --name table

bench-decide: $(SETUP)  ## measure how often dialin and the published grid decide correctly, and how soon
	.venv/bin/python benchmarks/decide.py

screenshots: $(SETUP)  ## write docs/images from the stored example studies, in headless Chromium
	.venv/bin/python scripts/screenshots.py

published: $(SETUP) driver  ## show what the published experiments still need; with MINUTES=40 resume those worth most, and write docs/published.md
	PYTHONPATH=scripts .venv/bin/python -m published $(if $(MINUTES),--minutes $(MINUTES)) $(PUBLISHED)

builds: $(SETUP)  ## install and try every build, and write docs/builds.md
	.venv/bin/python scripts/builds.py

docs: $(SETUP)  ## write the docs of commands and columns, and the JSON Schemas
	@mkdir -p docs
	.venv/bin/python scripts/commands_page.py >docs/cli.md
	.venv/bin/python scripts/schemas_and_columns.py

site:  ## build the documentation site into site/ (search, dark theme, works offline)
	@scripts/site.sh

lock:  ## choose the newest versions and write requirements.lock and crates.lock
	@scripts/lock.sh

clean:  ## remove what make wrote here; servers, data and studies stay
	rm -rf .venv .tools .site site dist crates/dialin-load/target .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.PHONY: help setup driver wheel test-wheel try try-tune try-fleet test test-all lint bench bench-driver bench-decide screenshots published builds docs site lock clean
