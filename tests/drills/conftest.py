"""The toy project, for the tests of this folder."""

from tests.toy import executed, executed_once, importable, no_kernel, toy  # noqa: F401
