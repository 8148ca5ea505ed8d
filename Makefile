# Every target sets up .venv by itself when it is missing or older than what it is made from.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

book: $(READY)
	$(BIN)/ntpcompanion build

test: $(READY)
	$(BIN)/pytest

smoke: $(READY)
	$(BIN)/ntpcompanion execute --profile smoke
	$(BIN)/ntpcompanion check --profile smoke

bench: $(READY)
	$(BIN)/pytest -m benchmark -n 0 -s tests/benchmarks

serve: $(READY)
	$(BIN)/ntpcompanion serve

clean:
	rm -rf _build book/chapters .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed, this is ' + sys.version.split()[0] + '. Name another: make PYTHON=python3.12 book')"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[book,test]'
	touch $@

.PHONY: book test smoke bench serve clean
