"""What `ntpcompanion doctor` shows."""

import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.doctor import environment_checks, machine
from ntpcompanion.workflow.doctor.environment_checks import Check


def examine(project: Project) -> list[Check]:
    """Everything that is checked, in the order of the report. Never raises. Takes seconds: what is
    slow runs at the same time.
    """
    parts = {
        "packages": environment_checks.packages,
        "kernel": environment_checks.kernel,
        "machine": machine.machine,
    }
    with ThreadPoolExecutor(max_workers=len(parts)) as pool:
        groups = [pool.submit(_guarded, name, part, project) for name, part in parts.items()]
        return [check for group in groups for check in group.result()]


def shown(check: Check, width: int) -> str:
    """A check as lines of text: state, name, what was found, and below it the way to fix it."""
    # an extra may have any name
    head, indent = f"{check.state:<9}{check.name:<22} ", " " * 9
    # paths and commands can be copied
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    fill.initial_indent, fill.subsequent_indent = head, " " * len(head)
    lines = fill.wrap(check.found)
    fill.initial_indent = fill.subsequent_indent = indent
    return "\n".join(lines + fill.wrap(check.fix))


def _guarded(
    name: str, part: Callable[[Project], Iterator[Check]], project: Project
) -> list[Check]:
    """The checks of a part up to the one that met what nobody foresaw, which becomes a fault of its
    own.
    """
    done: list[Check] = []
    try:
        for check in part(project):
            done.append(check)
    except Exception as error:  # a doctor that falls over says nothing about the rest
        message = f"could not be examined further: {type(error).__name__}: {error}"
        fix = "Fix what this names, or report it with the whole of this output."
        done.append(Check(name, "fault", message, fix))
    return done
