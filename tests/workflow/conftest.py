"""The toy project, for the tests of this folder."""

from tests.toy import importable, no_kernel, toy  # noqa: F401
