import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.timing.workloads import FILE, Workload, read_workloads


def write(project, content):
    path = project.records / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))


def test_workloads_are_read_by_name(toy):
    write(toy.project, {"add": {"about": "a sum", "setup": "x = 1", "statement": "x + 1"}})
    assert read_workloads(toy.project) == {
        "add": Workload(about="a sum", setup="x = 1", statement="x + 1")
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "names no workload"),
        ({"add": {"statement": "1"}}, r"add\.about: Field required"),
        ({"add": {"about": "a", "statement": ""}}, r"add\.statement: .* at least 1 character"),
        ({"add": {"about": "a", "statement": "1", "stup": "2"}}, r"add\.stup: Extra inputs"),
        ({"add": {"about": "a", "statement": "1 +"}}, "`statement` of 'add' is not Python"),
        ({"add": {"about": "a", "setup": "(", "statement": "1"}}, "`setup` of 'add' is not Python"),
    ],
)
def test_what_is_wrong_with_the_file_is_said(toy, content, said):
    write(toy.project, content)
    with pytest.raises(WorkflowError, match=said):
        read_workloads(toy.project)


def test_without_a_file_the_error_says_what_to_write(toy):
    with pytest.raises(WorkflowError, match=r"workloads\.yml does not exist.*`statement`"):
        read_workloads(toy.project)


@pytest.mark.parametrize("name", read_workloads(Project.find()))
def test_the_workloads_of_this_book_run(name):
    workload, names = read_workloads(Project.find())[name], {}
    exec(workload.setup, names)
    exec(workload.statement, names)
    used = [getattr(value, "__module__", None) or "" for value in names.values()]
    assert any(module.startswith("ntpcompanion.") for module in used)
