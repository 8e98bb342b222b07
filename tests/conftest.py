"""What the tests share: the command line as a user starts it, a home of its own for each test, where the corpus lies.

The corpus of captured and published outputs is not ours to pass on: it lies in shared/corpus, in the checkout or beside it,
or where PINSWEEP_CORPUS says. Tests that need it skip with the reason where it is absent.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from hypothesis import HealthCheck, settings

from orchestrator.programs import kernels
from parsers.errors import UserError
from tests.calls import READING, call, read_all

ROOT = Path(__file__).resolve().parents[1]

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
"""pinsweep(*words, cwd=…, env=…, input=…) → the finished process, with text streams."""


for _folder in Path(__file__).resolve().parents[1:3]:
    if (_folder / "shared" / "corpus").is_dir():
        os.environ.setdefault("PINSWEEP_CORPUS", str(_folder / "shared" / "corpus"))

settings.register_profile("quick", deadline=None, max_examples=15, derandomize=True)  # no test is about time
settings.register_profile("slow", deadline=None, max_examples=30, derandomize=True)
settings.register_profile(
    "search",
    deadline=None,
    max_examples=int(os.environ.get("PINSWEEP_EXAMPLES", 0)) or 1,
    suppress_health_check=[HealthCheck.too_slow],
)


def pytest_configure(config: pytest.Config) -> None:
    """The same examples of a law each time, more of them where the slow tests run; PINSWEEP_EXAMPLES=1000: that many others."""
    quick = "not slow" in config.option.markexpr
    settings.load_profile("search" if "PINSWEEP_EXAMPLES" in os.environ else "quick" if quick else "slow")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """The kernels that users get are compiled once, while the workers collect, and not by each of them."""

    def build_all() -> None:
        with suppress(UserError):  # the tests say so
            for name in kernels.kernel_names():
                kernels.build(name)

    threading.Thread(target=build_all).start()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each worker begins in another folder: what one has compiled, with its asserts rewritten, the others find."""
    report = yield
    if isinstance(collector, pytest.Directory) and (worker := os.environ.get("PYTEST_XDIST_WORKER")):
        found = [*report.result]
        first = len(found) * int(worker.removeprefix("gw")) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        report.result = found[first:] + found[:first]
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers run first what takes longest (the documentation, clusters, changed inputs, browsers, machines, environments), then what starts programs and
    draws pages, and of each the files of many tests: what they end with is short."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    slow = (
        "docs", "cluster", "test_fuzz.py", "test_accessible.py", "test_browser.py", "numa_vm", "test_packaging.py", "test_setup_scripts.py",
        "cli", "kernels", "faults", "reports", "orchestrator",
    )  # fmt: skip
    numbers = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[int, int, Path]:
        parts = {*item.path.relative_to(ROOT / "tests").parts}
        first = next((i for i, name in enumerate(slow) if name in parts), len(slow))
        return first, -numbers[item.path], item.path

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing of what is imported and collected is ever rubbish: it is not looked through, now or later. For rubbish of tests Python looks
    after 50 000 new objects, not 700, as pinsweep does after 100 000: 2 500 looks were a twentieth of the CPU time of a page's tests, half of
    it for Hypothesis, which times each."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:  # nohup, or a script's background job: tests send these
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

os.environ["PINSWEEP_NO_WARM_UP"] = "1"  # what is tested of a run is the runs; tests of warm-ups take it away
os.environ["PINSWEEP_INCLUDE"] = "all"
os.environ["PINSWEEP_ALLOW_DISTURBED"] = "1"  # tests run side by side; tests of disturbance take it away


@pytest.fixture(scope="session", autouse=True)
def _folders_of_this_worker(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sweeps of other tests, and of the developer, are none that a test waits for; baselines and timings of a test are not kept for the developer."""
    os.environ["PINSWEEP_RUNTIME_DIR"] = str(tmp_path_factory.mktemp("runtime"))
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def of_all_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run of the tests, the same for all workers of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "of_all_workers"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _each_picture_is_drawn_once(of_all_workers: Path) -> Iterator[None]:
    """What vl-convert answers is kept for whoever asks the same, in any worker: half of the pictures are of results that other tests draw, too."""
    folder = of_all_workers / "drawn"
    folder.mkdir(exist_ok=True)
    fonts: list[str] = []  # by which texts are measured from then on

    def registered(directory: str) -> None:
        register(directory)
        fonts.append(directory)

    def once(draw: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(draw)
        def drawn(*asked: Any, **how: Any) -> Any:
            key = json.dumps([vl_convert.__version__, draw.__name__, asked, how, fonts])
            found = folder / hashlib.sha256(key.encode()).hexdigest()
            if not found.exists():
                unfinished = folder / f"{found.name}-{os.getpid()}"
                unfinished.write_text(json.dumps(draw(*asked, **how)), encoding="utf-8")
                unfinished.rename(found)
            return json.loads(found.read_text(encoding="utf-8"))

        return drawn

    with pytest.MonkeyPatch.context() as patch:
        for draw in (vl_convert.vegalite_to_vega, vl_convert.vegalite_to_svg):
            patch.setattr(vl_convert, draw.__name__, once(draw))
        register = vl_convert.register_font_directory
        patch.setattr(vl_convert, "register_font_directory", registered)
        yield


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test's own, where sweeps on this machine see each other."""
    folder = tmp_path / "runtime"
    monkeypatch.setenv("PINSWEEP_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Environment variables that keep a test away from the user's configuration and data; kernels stay cached."""
    folder = tmp_path_factory.mktemp("home")
    kept = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
    return {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data"), **kept}


class Starter:
    """Starts pinsweep as `python -m pinsweep` does, in a process forked from one that has it imported (`starts.py`)."""

    def __init__(self, tree: Path = ROOT) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = [sys.executable, Path(__file__).with_name("starts.py"), str(theirs.fileno())]
        env = {**os.environ, "PYTHONPATH": str(tree)}
        subprocess.run(program, pass_fds=[theirs.fileno()], env=env, check=True)
        theirs.close()

    def __call__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        given: str,
        terminal: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """`terminal`: stdout and stderr lead to one each."""
        asked = {"words": words, "cwd": str(cwd), "env": dict(env), "cpus": sorted(os.sched_getaffinity(0))}
        (stdin, give), *outs = os.pipe(), *(pty.openpty() if terminal else os.pipe() for _ in range(2))
        theirs = [stdin, *(write for _, write in outs)]
        socket.send_fds(self._line, [json.dumps(asked).encode()], theirs)
        for fd in theirs:
            os.close(fd)
        with ThreadPoolExecutor(2) as pool, os.fdopen(give, "w") as typed:
            out, err = (pool.submit(read_all, read) for read, _ in outs)
            with suppress(BrokenPipeError):  # who does not read it has ended before
                typed.write(given)
                typed.close()
            said = out.result(), err.result()
        status = os.waitstatus_to_exitcode(int(self._line.recv(16)))
        return subprocess.CompletedProcess(["pinsweep", *words], status, *said)

    def stop(self) -> None:
        """Let it end: it reads the end of the line."""
        self._line.close()


@pytest.fixture(scope="session")
def starter_of() -> Iterator[Callable[[Path], Starter]]:
    """starter_of(tree): what starts the pinsweep of another source tree."""
    with ExitStack() as stack:

        def begin(tree: Path) -> Starter:
            starter = Starter(tree)
            stack.callback(starter.stop)
            return starter

        yield begin


@pytest.fixture(scope="session")
def starter(starter_of: Callable[[Path], Starter]) -> Starter:
    return starter_of(ROOT)


@pytest.fixture
def pinsweep(tmp_path: Path, home: Mapping[str, str], starter: Starter) -> Cli:
    def run(
        *words: str | Path,
        cwd: Path = tmp_path,
        env: Mapping[str, str] | None = None,
        input: str = "",
        terminal: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **home, **(env or {})}
        start = call if words and words[0] in READING else starter
        return start([*map(str, words)], cwd=cwd, env=env, given=input, terminal=terminal)

    return run


_CUT = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA cache_size = 2")
db.execute("BEGIN")
for n in range(30):
    db.execute(f"CREATE TABLE t{n} (a)")
    db.execute(f"INSERT INTO t{n} VALUES (zeroblob(8192))")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def cut_creation() -> Callable[[Path], None]:
    """Leaves at a path what a kill -9 leaves in the middle of the first commit: some pages, and a journal that takes them back."""

    def cut(path: Path) -> None:
        subprocess.run([sys.executable, "-c", _CUT, path], check=False)
        assert path.stat().st_size > 0
        assert path.with_name(f"{path.name}-journal").stat().st_size > 0

    return cut
