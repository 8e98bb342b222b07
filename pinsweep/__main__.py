"""Start pinsweep: the one place where errors become messages and exit statuses.

This module imports only loaded modules, because Ctrl-C during an import here is not handled.
"""

from __future__ import annotations

import gc
import io
import os
import sys

_OUR_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
TYPE_CHECKING = False  # that of `typing` is another import
if TYPE_CHECKING:
    from parsers.errors import PinsweepError


def main() -> None:
    """Run the command line. Exit status: 0 ok, 1 failure, 2 a mistake of the user, 3 only a part of the machine,
    130 Ctrl-C."""
    # a plan or a result is many values without a cycle: looking for one takes a fifth of the time, and again
    # and again among those that stay a tenth
    try:
        gc.set_threshold(100_000, 50, 1000)
        try:
            _have_standard_streams()
            _put_pythonpath_last()
            status = _run()
        except KeyboardInterrupt:  # while our own modules or the message of an error were on their way
            status = 130
        except Exception as error:  # in an import
            if not (mistake := _of_environment(error)):
                raise
            print(*mistake.lines(), sep="\n", file=sys.stderr)  # nothing else can be imported
            status = mistake.exit_status
        for name in ("stdout", "stderr"):
            _let_go(name)
        gc.freeze()  # else Python's end looks for cycles in all that goes with the process anyway: a tenth of a plan
    except KeyboardInterrupt:  # a second one
        os._exit(130)
    sys.exit(status)


def _have_standard_streams() -> None:
    """Lead what the caller has closed nowhere, or the next file that is opened gets its number, and what is printed.

    stdout is opened for reading: an answer that nobody gets is an error there, as on a full disk.
    """
    for number, name, flags in (
        (0, "stdin", os.O_RDONLY),
        (1, "stdout", os.O_RDONLY),
        (2, "stderr", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, flags)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115 (until the end)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # a locale of Latin-1 has no "−"


def _pythonpath() -> list[str]:
    """Return the folders of PYTHONPATH, in its order."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [os.path.abspath(name) for name in named if name]  # noqa: PTH100 (what Python has loaded)


def _put_pythonpath_last() -> None:
    """Let the packages that were installed with pinsweep win: those of an environment module are often for another
    Python.

    If pinsweep itself comes from PYTHONPATH, so do its packages, and the order stays.
    """
    folders = _pythonpath()
    if _OUR_FOLDER not in folders:
        sys.path.sort(key=folders.__contains__)


def _of_environment(error: Exception) -> PinsweepError | None:
    """Return the mistake behind an exception: a package that PYTHONPATH names and this Python cannot use, or
    PYTHONHOME. None: another."""
    from parsers.errors import UserError

    files = [str(error.filename)] if isinstance(error, SyntaxError) else []
    trace = error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        files += [code.co_filename] if code.co_name == "<module>" else []  # what is imported
        trace = trace.tb_next
    for folder in _pythonpath():
        if folder != _OUR_FOLDER and (found := next((file for file in files if file.startswith(folder + os.sep)), "")):
            return UserError("PYTHONPATH", f"{found} does not work here: {error}", "unset PYTHONPATH")
    if isinstance(error, ImportError) and "PYTHONHOME" in os.environ:
        return UserError("PYTHONHOME", str(error), "unset PYTHONHOME")
    return None


def _let_go(name: str) -> None:
    """Write what is left in a standard stream; where that cannot be, Python's own end finds nothing to complain
    of."""
    stream = getattr(sys, name)
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _run() -> int:
    import click

    from parsers.errors import PinsweepError, UserError, error_record
    from pinsweep.cli import cli

    try:
        if sys.flags.optimize > 1:
            raise UserError("PYTHONOPTIMIZE", "2 removes texts that pinsweep needs", "unset PYTHONOPTIMIZE")
        return cli.main(standalone_mode=False) or 0
    except PinsweepError as error:
        return _told(error)
    except click.ClickException as error:
        from pinsweep import groups, usage

        if isinstance(error, groups.NoCommand) and error.ctx:
            _say(*error.ctx.get_help().splitlines())
            _answer(usage.told(error).records())
            return 2
        return _told(usage.told(error))
    except click.Abort:
        return 130
    except BrokenPipeError:
        return 1  # the reader of our output has gone; nothing is left to say
    except OSError as error:
        if not error.filename and _folder_is_gone():
            _say("error: the working folder: has been removed", "hint: cd to an existing folder")
            _answer([error_record("system", "the working folder has been removed")])
            return 2
        from pinsweep import bug

        place, message, hint = bug.describe_system_error(error)
        return _fail("system", place, message, hint)
    except MemoryError:
        from orchestrator.store.limits import memory_error

        return _told(memory_error())
    except Exception as error:
        if mistake := _of_environment(error):
            return _told(mistake)
        if isinstance(error, ModuleNotFoundError):
            return _lacks(error)
        return _bug()  # the user gets a sentence, the traceback goes to a file


def _told(error: PinsweepError) -> int:
    """Say what is wrong. Returns the exit status."""
    from reports.text.plain import printable

    _say(*map(printable, error.lines()))
    _answer(error.records())
    return error.exit_status


def _folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 (this module starts with what Python has loaded)
    except FileNotFoundError:
        return True
    return False


def _say(*lines: str) -> None:
    from pinsweep.terminal import say

    for line in lines:
        say(line, err=True)


def _answer(errors: list[dict[str, object]]) -> None:
    """Where JSON was asked for, and none of it was printed yet: say there what is wrong, too."""
    import contextlib
    import itertools

    from pinsweep.terminal import data, nothing_answered

    words = sys.argv[1:]
    asked = "--format=json" in words or ("--format", "json") in itertools.pairwise(words)
    if not asked or not nothing_answered():
        return
    from parsers.errors import PinsweepError
    from reports.text.json_text import json_text

    with contextlib.suppress(PinsweepError, OSError):
        data(json_text({"errors": errors}))


def _lacks(error: ModuleNotFoundError) -> int:
    from pinsweep import packages

    package = packages.needed(error)
    if not package:
        return _bug()
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "this")
    message = f"needs {package}, which is not installed here"
    hint = f"{packages.install()}; or use another host: a host that only measures (requirements/node.txt) lacks it"
    return _fail("missing-package", command, message, hint)


def _bug() -> int:
    from parsers.errors import PinsweepError
    from pinsweep import bug

    # what a stranger made of a file, or a disk
    if isinstance(error := bug.of_a_file(sys.argv[1:]), PinsweepError):
        return _told(error)
    what, where = bug.told()
    return _fail("bug", "", what.removeprefix("error: "), where.removeprefix("hint: "))


def _fail(kind: str, place: str, message: str, hint: str) -> int:
    """Print an error that is not the user's mistake. Returns the exit status."""
    from parsers.errors import error_record

    _say(f"error: {place}: {message}" if place else f"error: {message}", *([f"hint: {hint}"] if hint else []))
    _answer([error_record(kind, message, place=place, hint=hint)])
    return 1


if __name__ == "__main__":
    main()
