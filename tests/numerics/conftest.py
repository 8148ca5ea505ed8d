from tests.threads import asked_threads  # noqa: F401 (a fixture of all tests here)
