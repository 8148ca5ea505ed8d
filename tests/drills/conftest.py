"""The toy project, for the tests of this folder."""

from tests.toy import toy  # noqa: F401
