"""How findings are counted and shown; the commands themselves are in workflow/test_cli.py."""

from ntpcompanion import terminal_checks
from ntpcompanion.workflow.doctor.environment_checks import Check


def test_the_report_of_the_doctor_is_counted(capsys):
    terminal_checks.show_checks([Check("a", "ok", "f")])
    assert capsys.readouterr().out.endswith("1 checks: all ok.\n")
    bad = [Check("a", "fault", "f", "m"), Check("b", "warning", "f"), Check("c", "fault", "f")]
    terminal_checks.show_checks(bad)
    assert capsys.readouterr().out.endswith("3 checks: 2 faults, 1 warning.\n")
