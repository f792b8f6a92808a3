# Everything that developers and CI run. Each target installs what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8765
PROGRAMS := $(wildcard tests/*/programs)
SPACE := $(subst ,, )
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)

.PHONY: help run tour spar quick test test-full lint types types-of-programs architecture rooms pytest bench docs readme-picture changelog release clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

run: $(VENV)/.server ## the web pages with samples to try, in a temporary home; PORT=8765
	@tools/run.sh $(BIN)/outkey $(PORT)

tour: $(VENV)/.server ## one request for each method and failure, in the terminal
	@$(BIN)/python examples/tour.py

spar: $(VENV)/.server ## the sparring provider: a local API to test your own configuration with; PORT=9000
	@$(BIN)/python -m outkey.spar --tls $(if $(filter file,$(origin PORT)),,--port $(PORT))

quick: $(VENV)/.python ## while you work: unit and contract tests, lint and types, without any server; three minutes
	@$(BIN)/python tools/run_tests.py --quick

test: $(VENV)/.dev ## everything that must pass before a change lands, in eight to twelve minutes on two cores
	@$(BIN)/python tools/run_tests.py

test-full: $(VENV)/.dev ## before a merge to main and a release: all tests at full length, coverage, the handbook
	@$(BIN)/python tools/run_tests.py --full

lint: $(VENV)/.python ## format and lint of code and templates
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/djlint --quiet --check --lint src

types: $(VENV)/.python ## mypy, strict: the package
	$(BIN)/mypy

types-of-programs: $(VENV)/.python ## mypy, strict: the programs that tests run, and bench
	MYPYPATH=src:tests:tests/cli/projects/shop_project:$(subst $(SPACE),:,$(PROGRAMS)) $(BIN)/mypy --cache-dir=.mypy_cache/programs $(PROGRAMS)
	MYPYPATH=src $(BIN)/mypy --cache-dir=.mypy_cache/programs --ignore-missing-imports --allow-subclassing-any --follow-imports=silent bench

architecture: $(VENV)/.python ## the direction of imports, and no circle
	$(BIN)/lint-imports
	$(BIN)/python tools/rooms.py

rooms: $(VENV)/.python ## the packages, and how many imports go down and up
	@$(BIN)/python tools/rooms.py

pytest: $(VENV)/.dev ## only the tests
	@$(BIN)/python tools/run_tests.py --pytest

bench: $(VENV)/.dev .venv-bench/.ready ## the budgets: sending and synchronizing beside the peers, audit, storage, start of commands
	@missed=0; for what in send asend aws oauth1 rotation http_interface audit scale growth growth_inbox growth_audit storage pages stampede sync shapes tables changes scripts preview webhooks webhook_timing start; do $(BIN)/python bench/$$what.py || missed=1; done; exit $$missed

docs: $(VENV)/.dev ## the handbook with pictures of the pages; warnings are errors
	$(BIN)/python tools/pictures.py
	$(BIN)/sphinx-build -q -W --keep-going -j auto -b html docs docs/_build/html
	$(BIN)/python tools/check_handbook.py

readme-picture: $(VENV)/.dev ## renew the picture in README.md
	$(BIN)/python tools/pictures.py --readme

changelog: $(VENV)/.dev ## show what the next release will say
	$(BIN)/towncrier build --draft --version $(VERSION)

release: $(VENV)/.dev ## write the changelog of this version, build wheel and sdist into dist/, and test them
	$(BIN)/towncrier build --version $(VERSION) --yes
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python -m pytest -q --full tests/docs/test_package.py

$(VENV)/.server: requirements/server.lock pyproject.toml tools/setup.sh
	@tools/setup.sh "$(PYTHON)" $(VENV) requirements/server.lock
	@touch $@

$(VENV)/.python: requirements/dev.lock pyproject.toml tools/setup.sh
	@tools/setup.sh "$(PYTHON)" $(VENV) requirements/dev.lock
	@touch $@ $(VENV)/.server

$(VENV)/.dev: $(VENV)/.python Makefile requirements/judges.lock requirements/moto.lock requirements/identities.lock requirements/stores.lock requirements/trac.lock requirements/schemathesis.lock requirements/peers/package-lock.json tools/peers.sh
	@tools/setup.sh "$(PYTHON)" $(VENV) requirements/dev.lock nginx=nginx-light htpasswd=apache2-utils openssl=openssl strace=strace curl=curl pg_ctlcluster=postgresql mariadbd=mariadb-server chromium-headless-shell=chromium-headless-shell node=nodejs npm=npm
	@tools/peers.sh $(VENV)/peers $(BIN)/python
	@touch $@

.venv-bench/.ready: requirements/bench.lock tools/setup.sh
	@tools/setup.sh "$(PYTHON)" .venv-bench requirements/bench.lock nginx=nginx-light
	@touch $@

clean: ## remove everything that the other targets made
	rm -rf $(VENV) .venv-bench .mypy_cache .ruff_cache .import_linter_cache .hypothesis docs/_build docs/_pictures .coverage
