"""Where the things of one checkout are."""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from ntpcompanion.settings import Settings, package_folder, read_settings
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import files_below, require_utf8, search_path

log = logging.getLogger(__name__)
PATIENCE = 1.0  # seconds of waiting for another command before a word is said
PROFILES = ("smoke", "book", "paper")

# Several processes compute at once; with default threads each, small trainings were 2-3 times
# slower.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Project:
    """The folders of one checkout. The sources of `package`, and of `others`, decide freshness;
    the experiments are in the first. `settings` are those of its pyproject.toml.
    """

    root: Path
    package: Path = field(default_factory=lambda: Path(__file__).resolve().parents[2])
    others: tuple[Path, ...] = ()
    settings: Settings = field(default_factory=Settings, compare=False)

    @classmethod
    def find(cls, start: Path | None = None) -> "Project":
        """The nearest folder at or above `start` (default: the current one) that holds
        `_config.yml` and `notebooks/`.
        """
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / "_config.yml").is_file() and (folder / "notebooks").is_dir():
                return cls.read(folder)
        raise WorkflowError(
            f"No project at or above {start}: a folder with `_config.yml` and `notebooks/` is "
            "looked for. Change into the checkout."
        )

    @classmethod
    def read(cls, root: Path) -> "Project":
        """The project in a folder, with what its pyproject.toml says."""
        try:
            settings = read_settings(root)
            folders = [package_folder(name, root) for name in settings.package]
        except ValueError as error:
            raise WorkflowError(str(error)) from error
        # a book without a package of its own rests on the one that runs it
        first, *others = folders or [Path(__file__).resolve().parents[2]]
        return cls(root, first, tuple(others), settings)

    @property
    def packages(self) -> tuple[Path, ...]:
        return (self.package, *self.others)

    @property
    def experiments(self) -> str:
        return self.settings.experiments or f"{self.package.name}.experiments"

    def require_own_package(self) -> None:
        """Raises WorkflowError if this process runs the `ntpcompanion` of another checkout than the
        one it is to work in.
        """
        package, running = self.root / "ntpcompanion", Path(__file__).resolve().parents[2]
        if package.is_dir() and package.resolve() != running:
            raise WorkflowError(
                f"This command runs {running}, but {self.root} has an ntpcompanion of its own, and "
                "numbers of the one would be kept as "
                f"those of the other. Use {self.root / '.venv' / 'bin' / 'ntpcompanion'} (made by "
                "`make book`), or change into the other."
            )

    def require_usable(self) -> None:
        """Raises WorkflowError if the folders of this project have names that other programs do not
        take.
        """
        search_path([self.root, *(folder.parent for folder in self.packages)])
        for path in (self.root, *self.packages, *files_below(self.notebooks)):
            require_utf8(path)

    @property
    def notebooks(self) -> Path:
        """The text notebooks and `profiles.yml`."""
        return self.root / "notebooks"

    @property
    def book(self) -> Path:
        """What a reader reads that is not a notebook; the source folder of Jupyter Book."""
        return self.root / "book"

    @property
    def records(self) -> Path:
        """Recorded long runs, and their plans."""
        return self.book / "records"

    @property
    def claims(self) -> Path:
        """The file of all claims of a small book; a larger one has a file for each chapter in the
        folder `claims` beside it.
        """
        return self.book / "claims.yml"

    @property
    def claim_files(self) -> list[Path]:
        """The files of claims that there are, in the order of their names."""
        files = sorted(self.claims.with_suffix("").glob("[!.]*.yml"))
        return files if files and not self.claims.exists() else [self.claims, *files]

    @property
    def build(self) -> Path:
        """Everything generated except the chapters of the book."""
        return self.root / "_build"

    def baseline(self, profile: str) -> Path:
        """The stored values of a profile, which `check` compares with."""
        return self.root / "tests" / "baselines" / f"{profile}.json"

    def runs(self, profile: str, *, custom: bool = False) -> Path:
        """Where executed notebooks of a profile are kept. Only an unmodified book run lands where
        pages are made.
        """
        return (
            self.book / "chapters"
            if profile == "book" and not custom
            else self.build / "runs" / profile
        )

    def staged(self, profile: str) -> Path:
        """The copy of the book folder from which the site of another profile is made."""
        return self.build / f"stage-{profile}" / "book"

    def html(self, profile: str) -> Path:
        """The rendered site of a profile; only the book's is called `html`."""
        return self.build / ("html" if profile == "book" else f"html-{profile}")

    @contextlib.contextmanager
    def lock(self, name: str = "build", timeout: float = 1800) -> Iterator[None]:
        """One execution or build (or one record of a name) at a time in this folder; a second one
        waits for the first, and says so.
        """
        lock = FileLock(self.build / f".{name}.lock")
        try:
            try:
                held = lock.acquire(timeout=min(timeout, PATIENCE))  # makes the folder, too
            except Timeout:
                if timeout > PATIENCE:
                    work = (
                        "executes notebooks or builds the book"
                        if name == "build"
                        else f"makes {name}"
                    )
                    log.warning("Waiting for another ntpcompanion that %s in %s.", work, self.root)
                held = lock.acquire(timeout=max(0, timeout - PATIENCE))
        except Timeout as error:
            raise WorkflowError(
                f"Another ntpcompanion has worked in {self.root} for over {timeout:.0f} s. Wait "
                "for it, or stop it and run again."
            ) from error
        except OSError as error:
            advice = "Fix the permissions or free some space."
            if isinstance(error, FileExistsError):
                advice = "Move that file away: a folder must stand there."
            raise WorkflowError(
                f"Could not write to {self.build}: {error.strerror or error}. {advice}"
            ) from error
        with held:
            yield
