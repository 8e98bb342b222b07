"""In what hosts differ from the baseline that they are compared with: firmware, kernel, settings, programs. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from orchestrator.machine.facts import FACTS
from orchestrator.store.result_file import Session
from reports.results import differences
from reports.results.differences import SEVERAL, Difference
from reports.results.model import Results, Run
from reports.results.sessions import SessionKey

_OF_GROUP: Final = {"cores", *(fact.words for fact in FACTS if fact.hardware)}
"""What makes hosts of one kind, which is told with it."""

_MOST: Final = 3
"""Values of a fact on one side: what has more is of each host its own, as the disk in a kernel's command line."""


def since_baseline(
    past: Results, past_keys: Collection[SessionKey], now: Results, now_keys: Collection[SessionKey]
) -> tuple[Difference, ...]:
    """Return what some sessions recorded otherwise than those of a baseline (A) did: values that the baseline has none of."""
    table = differences.fingerprint(_sessions(past, past_keys), _sessions(now, now_keys))
    table |= differences.programs(_runs(past, past_keys), _runs(now, now_keys))
    return tuple(one for one in differences.compared(table).differences if _is_news(one))


def text_of(one: Difference) -> str:
    """Return "firmware version 1.2, the baseline 1.1"."""
    here, past = (" or ".join(value.split(SEVERAL)) for value in (one.b, one.a))
    return f"{one.what} {here}, the baseline {past}"


def _is_news(one: Difference) -> bool:
    past, now = one.a.split(SEVERAL), one.b.split(SEVERAL)
    return one.what not in _OF_GROUP and max(len(past), len(now)) <= _MOST and not {*now} <= {*past}


def _sessions(results: Results, keys: Collection[SessionKey]) -> list[Session]:
    return [m.session for m in results.measured if (m.file, m.session.session) in keys]


def _runs(results: Results, keys: Collection[SessionKey]) -> list[Run]:
    return [
        run for tool in results.tools for run in results.good(tool) if (run.file, run.session.session) in keys
    ]
