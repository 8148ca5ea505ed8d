"""What the workflow refuses."""

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError


def refused(words):
    """A block that must raise WorkflowError with a message in which the words are found."""
    return pytest.raises(WorkflowError, match=words)
