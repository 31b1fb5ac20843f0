# Each target sets itself up in .venv: nothing is needed but Python 3.11+, make and the package index.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY  := $(VENV)/.ready
BENCH  := $(VENV)/.bench
EXTRAS := ir,trees,dask,cvxpy
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
FILES  ?= 20000
KILLS  ?= 500
DISKS  ?= 200
# The platforms that `make wheels` compiles for, as dcglearn/kernels/build.py names them.
PLATFORMS := linux-x86_64 linux-aarch64 macos-x86_64 macos-arm64 windows-x86_64 windows-arm64

.PHONY: demo test long fuzz browser check dist wheels docs bench figures help

help:            ## list the targets
	@grep -E '^[a-z ]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/  -/'

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dcglearn needs Python 3.11 or later; set PYTHON=")'
	@echo "Step 1 of 3: $(VENV), an environment of its own, with a new pip (some ten seconds)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) 'pip>=25.1'  # the first that knows dependency groups
	@echo "Step 2 of 3: NumPy, SciPy, scikit-learn, polars and matplotlib (500 MB on the disk; about a minute)"
	@$(PIP) numpy scipy scikit-learn polars matplotlib
	@echo "Step 3 of 3: dcglearn, whose C is compiled here (about a minute)"
	@$(PIP) --editable .
	@touch $@

$(READY): $(INSTALLED)
	@echo "Installing what the tests need (about 1.5 GB; some minutes the first time)"
	@$(PIP) --group dev --editable '.[$(EXTRAS)]'
	@touch $@

$(BENCH): $(READY)
	$(PIP) --group bench
	@touch $@

demo: $(INSTALLED) ## learn a DCG from the log that ships with the project, draw it, and audit the usual metric; the first time sets up .venv
	@mkdir -p build
	@echo "Learning a DCG from examples/side_by_side.jsonl, 500 judgements (some seconds):"
	$(BIN)/dcglearn learn examples/side_by_side.jsonl -o build/dcg.json --plot build/dcg.png --force
	@echo "Auditing the usual metric with the same judgements (ten seconds):"
	$(BIN)/dcglearn audit examples/side_by_side.jsonl -o build/audit.html --force
	@echo "the audit of the usual metric: open build/audit.html in a browser"

# two processes, each with a core of its own: threads that wait would spin
ONE_THREAD := OMP_NUM_THREADS=1

test: $(READY)   ## run the tests
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal --durations=10

long: $(READY)   ## run the tests that `make test` leaves out: benchmarks and studies in their quick form, more kinds of logs (ARGS=FOLDER)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal --durations=10 -m long $(ARGS)

browser: docs    ## test the judging page, an audit and the site in Chromium (CHROMIUM=path), and write their pictures to build
	$(PIP) playwright
	$(PIP) --no-deps axe-playwright-python
	DCGLEARN_BROWSER=1 DCGLEARN_NO_SKIP=1 $(BIN)/python -m pytest tests/judge/test_page_in_browser.py tests/audits/test_page_in_browser.py tests/test_site_in_browser.py -s --durations=5

fuzz: $(READY)   ## damaged files for every reader and command (FILES=20000), kills and full disks (KILLS=500 DISKS=200); seed: the date
	$(BIN)/python -m tests.hostile.fuzz --files $(FILES) $(ARGS)
	$(BIN)/python -m tests.hostile.stops --kills $(KILLS) --full-disks $(DISKS)

docs: $(READY)   ## build the site in build/site, with its gallery; warnings are errors
	$(PIP) --group docs
	@# -a, since Sphinx forgets search words of pages that it does not write again
	$(BIN)/python -m sphinx -a -W --keep-going -q -d build/doctrees docs build/site

dist:            ## build the wheel and the source archive in dist/, check them, and try the wheel in an empty environment
	rm -rf dist
	$(PYTHON) -m venv --clear $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet --disable-pip-version-check build twine check-wheel-contents cffconvert
	$(VENV)-dist/bin/python -m build --outdir dist .
	$(VENV)-dist/bin/twine check --strict dist/*
	$(VENV)-dist/bin/check-wheel-contents dist/*.whl
	$(VENV)-dist/bin/cffconvert --validate
	$(PYTHON) -m venv --clear build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/empty && bin/python $(CURDIR)/tests/installed.py $(CURDIR)/examples/side_by_side.jsonl

wheels:          ## build the source archive and the wheels of all platforms in dist/ with one compiler, and check them
	rm -rf dist build/sources
	mkdir -p build/sources
	$(PYTHON) -m venv --clear $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(VENV)-dist/bin/python -m pip install --quiet --group build build twine check-wheel-contents cffconvert
	$(VENV)-dist/bin/python -m build --no-isolation --sdist --outdir dist .
	tar xzf dist/*.tar.gz --strip-components 1 -C build/sources
	for platform in $(PLATFORMS); do \
	  DCGLEARN_TARGET=$$platform $(VENV)-dist/bin/python -m build --no-isolation --wheel --outdir dist build/sources || exit 1; \
	done
	$(VENV)-dist/bin/twine check --strict dist/*
	$(VENV)-dist/bin/check-wheel-contents dist/*.whl
	$(VENV)-dist/bin/cffconvert --validate
	$(VENV)-dist/bin/python tests/wheels.py dist

check: $(READY)  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror dcglearn/kernels/*.[ch]
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

bench: $(BENCH)  ## measure speed against other solvers and libraries, as ratios; write docs/benchmarks.md (ARGS=trees: that alone)
	$(BIN)/python benchmarks $(ARGS)

figures: $(READY) ## draw the papers' figures and say which claims hold; what is there is kept, and said so (ARGS=study or theory: those; ARGS="figure --force": made anew)
	$(BIN)/python -m simulations $(or $(ARGS),figure)

