"""Starts pinsweep for the tests: each start is a process of its own, forked from this one, which has imported all of it.

A start costs 20 ms so, and not half a second of imports. What `tests/conftest.py` sends for each: a JSON text, and the ends of
three pipes for the standard streams; what it gets back: the status of `os.waitpid`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any, NoReturn


def load() -> None:
    """Import all of pinsweep. Not numpy and pandas, which no run imports: each start copies the tables of all memory there is."""
    for name in ("parsers", "orchestrator", "reports", "pinsweep"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if module.name != "reports.lab.plot":  # a script for students, with their matplotlib
                importlib.import_module(module.name)


def become(asked: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the process that was asked for."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    os.sched_setaffinity(0, asked["cpus"])
    sys.path[0] = asked["cwd"]
    start = importlib.import_module("pinsweep.__main__")
    sys.argv = [str(start.__file__), *asked["words"]]
    status = 1
    try:
        start.main()
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(status)  # to take all that was imported down again would be most of the time


def serve(line: socket.socket) -> None:
    load()
    gc.freeze()  # or each start would copy all that was imported, to look for rubbish in it
    while True:
        text, streams, _, _ = socket.recv_fds(line, 1 << 20, 3)
        if not text:
            return
        pid = os.fork()
        if not pid:
            line.close()
            become(json.loads(text), streams)
        for stream in streams:
            os.close(stream)
        line.send(str(os.waitpid(pid, 0)[1]).encode())


if __name__ == "__main__":
    if os.fork():  # no descendant of the tests': some of them kill all of theirs
        os._exit(0)
    serve(socket.socket(fileno=int(sys.argv[1])))
