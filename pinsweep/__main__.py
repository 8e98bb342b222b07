"""Start pinsweep: the one place where errors become messages and exit statuses."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. Exit status: 0 ok, 1 what was asked for failed, 2 the user's mistake, 130 Ctrl-C."""
    try:
        status = _run()
    except KeyboardInterrupt:  # while our own modules or the message of an error were on their way
        status = 130
    sys.exit(status)


def _run() -> int:
    import click

    from parsers.errors import PinsweepError
    from pinsweep.cli import cli

    try:
        return cli.main(standalone_mode=False) or 0
    except PinsweepError as error:
        for line in error.lines():
            print(line, file=sys.stderr)
        return error.exit_status
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nothing is left to say
        return 1
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
        print(f"error: {what}", file=sys.stderr)
        return 1
    except Exception:  # a bug of ours: the user gets a sentence, the traceback goes to a file
        return _bug()


def _bug() -> int:
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="pinsweep-bug-", suffix=".txt", delete=False) as file:
        file.write(f"{sys.argv!r}\n{traceback.format_exc()}")
    kind, value, _ = sys.exc_info()
    print(f"error: a bug in pinsweep: {kind.__name__ if kind else '?'}: {value}", file=sys.stderr)
    print(f"hint: please report it with {file.name}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
