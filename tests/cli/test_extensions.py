"""Tools from outside: the examples, installed beside pinsweep, are found by every command."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from parsers import extensions

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TOOLS = {"stress_ng": "stress-ng", "sysbench": "sysbench"}

SYSBENCH = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

CPU speed:
    events per second:   597.64

Latency (ms):
         min:                                    0.32
         avg:                                    3.29
         max:                                   64.25
         95th percentile:                       28.67
"""
STRESS_NG = """\
stress-ng: info:  [10682] dispatching hogs: 1 matrix
stress-ng: metrc: [10682] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [10682]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [10682] matrix             1242      1.00      0.25      0.00      1241.89        4836.34
stress-ng: info:  [10682] successful run completed in 1.02s
"""

Pinsweep = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the packages of this one and this checkout, and both examples installed in it."""
    pytest.importorskip("hatchling", reason="hatchling, which builds the examples, is not here")
    folder = tmp_path_factory.mktemp("beside")
    sources = tmp_path_factory.mktemp("sources")
    for source in EXAMPLES.iterdir():
        shutil.copytree(source, sources / source.name)
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join([*site.getsitepackages(), str(ROOT)]))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(folder)]
    install = [*pip, "install", "--no-index", "--no-deps", "--no-build-isolation"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(site.getsitepackages())}  # where hatchling is
    subprocess.run([*install, *map(str, sorted(sources.iterdir()))], check=True, env=env)
    return folder


@pytest.fixture
def beside(environment: Path, tmp_path: Path, home: Mapping[str, str]) -> Pinsweep:
    def run(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        done = subprocess.run(
            [str(environment / "bin" / "python"), "-m", "pinsweep", *words],
            cwd=tmp_path, env={**env, **home, "PINSWEEP_ALLOW_DISTURBED": "1"}, text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.mark.parametrize("distribution", sorted(p.name for p in EXAMPLES.iterdir()))
def test_an_example_is_short(distribution: str) -> None:
    lines = [line for path in (EXAMPLES / distribution).rglob("*.py") for line in path.read_text().splitlines()]

    assert len(lines) <= 60


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (SYSBENCH, [",rate,1/s,597.64", "mean,latency,ns,3290000.0", "max,latency,ns,64250000.0", "p95,latency,ns,28670000.0"]),
        (STRESS_NG, ["matrix,rate,1/s,1241.89"]),
    ],
    ids=["sysbench", "stress_ng"],
)  # fmt: skip
@pytest.mark.slow
def test_its_captured_output_is_recognised(text: str, rows: list[str], beside: Pinsweep, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text(text)

    printed = beside("parse", "old.txt", "--format", "csv").stdout.splitlines()[1:]

    assert printed == [f"old.txt,{row}" for row in rows]


@pytest.mark.slow
def test_every_command_knows_them(beside: Pinsweep) -> None:
    assert '"stress_ng"' in beside("schema").stdout
    assert "tool: sysbench" in beside("init", "sysbench").stdout


@pytest.mark.slow
def test_a_tool_is_known_by_the_name_of_its_program(beside: Pinsweep, tmp_path: Path) -> None:
    begun = beside("init", "stress-ng").stdout
    (tmp_path / "e.yaml").write_text(begun.replace("tool: stress_ng", "tool: stress-ng"))
    (tmp_path / "old.txt").write_text(STRESS_NG)

    assert "tool: stress_ng" in begun
    beside("plan", "e.yaml", status=0 if shutil.which("stress-ng") else 1)  # 2: a mistake in the file
    assert "1241.89" in beside("parse", "stress-ng", "old.txt", "--format", "csv").stdout


@pytest.mark.parametrize("tool", sorted(TOOLS))
@pytest.mark.slow
def test_it_is_swept_and_reported(tool: str, beside: Pinsweep, tmp_path: Path) -> None:
    if not shutil.which(TOOLS[tool]):
        pytest.skip(f"{TOOLS[tool]} is not installed")
    (tmp_path / "e.yaml").write_text(beside("init", tool).stdout.replace(": 2,", ": 1,"))

    said = beside("run", "e.yaml", "-o", "r.db", "--repeats", "1", "--cells", f"{'workers' if tool == 'stress_ng' else 'threads'}=1").stderr  # fmt: skip
    beside("report", "r.db")

    assert "1 ok" in said
    assert "rate" in beside("show", "r.db").stdout
    assert TOOLS[tool] in (tmp_path / "r.html").read_text()


@pytest.mark.slow
def test_a_name_that_is_taken_is_refused(environment: Path, beside: Pinsweep) -> None:
    (tool,) = environment.glob("lib/python3*/site-packages/pinsweep_sysbench/parsers/sysbench.py")
    twin = tool.with_name("fio.py")
    shutil.copy(tool, twin)
    try:
        said = beside("schema", status=2).stderr
    finally:
        twin.unlink()

    assert said.splitlines() == [
        "error: pinsweep-sysbench: brings fio for parsers, which exists already",
        "hint: pip uninstall pinsweep-sysbench",
    ]


PARSER = """\
NAME, VERSION, LABELS, PRINTED, METRICS = "foo", 1, (), {}, {}
def recognise(text): return text.startswith("foo")
def parse(text, context=None): return 1 / 0
"""
TOOL = """\
from orchestrator.tools import Tool
class Foo(Tool):
    PROGRAMS, SIGNATURE, INSTALL = ("foo",), b"foo", "make foo"
    def command(self, cell, placement, site, program): return None
TOOL = Foo()
"""
SAYS = {
    "module": (f"import nosuch\n{PARSER}", TOOL, "parsers/foo.py, line 1: ModuleNotFoundError: No module named 'nosuch'"),
    "syntax": (PARSER, f"{TOOL}x = (", "orchestrator/tools/foo.py, line 6: SyntaxError: '(' was never closed"),
    "lacks": (PARSER, TOOL.replace("TOOL", "FOO"), "orchestrator/tools/foo.py has no TOOL"),
    "knows": (
        PARSER.replace("text.startswith", "text.begins"), TOOL,
        "the parser of pinsweep-foo 1.0 broke down: parsers/foo.py, line 2: AttributeError: 'str' object has no attribute 'begins'",
    ),
    "parser": (PARSER, TOOL, "the parser of pinsweep-foo 1.0 broke down: parsers/foo.py, line 3: ZeroDivisionError: division by zero"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAYS)
def test_the_mistake_of_an_extension_is_its_own(case: str, tmp_path: Path, home: Mapping[str, str]) -> None:
    parser, tool, says = SAYS[case]
    info = "Metadata-Version: 2.1\nName: pinsweep-foo\nVersion: 1.0\n"
    for path, text in {
        "pinsweep_foo-1.0.dist-info/METADATA": info,
        "pinsweep_foo-1.0.dist-info/entry_points.txt": "[pinsweep.tools]\nfoo = pinsweep_foo\n",
        "pinsweep_foo/__init__.py": "", "pinsweep_foo/parsers/foo.py": parser, "pinsweep_foo/orchestrator/tools/foo.py": tool,
        "old.txt": "foo 1\n", "sysbench.txt": "Copy: 1\n",
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "pinsweep", "parse", "old.txt"], cwd=tmp_path, text=True, capture_output=True, check=False,
        env={**os.environ, **home, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"},
    )  # fmt: skip

    assert says in " ".join(done.stderr.split())
    assert "a bug in pinsweep" not in done.stderr
    assert ("warning  pinsweep-foo 1.0 is left out, with foo: " in done.stderr) == (case not in ("knows", "parser"))


@pytest.mark.parametrize(
    ("recorded", "says"),
    [
        ("pinsweep-stress-ng 1.0", "the tool stress_ng came with pinsweep-stress-ng 1.0, which is not installed here (pip install pinsweep-stress-ng)"),
        ("", "the tool stress_ng came with a distribution of its own, which is not installed here (pip install pinsweep-stress-ng, if it is called so)"),
    ],
)  # fmt: skip
def test_what_is_not_installed_is_told_by_its_name(recorded: str, says: str) -> None:
    assert extensions.lacking("stress_ng", recorded) == says
