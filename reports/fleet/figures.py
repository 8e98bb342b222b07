"""The figures of a fleet: a map of hosts and kinds of number, and a dot for each host. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.chart import Chart
from reports.document import Figure
from reports.fleet.judge import STATUSES, Fleet
from reports.render import vega
from reports.text.hostlist import listed

if TYPE_CHECKING:
    import pandas as pd

MAX_KINDS, MAX_HOSTS = 10, 25
"""Columns and rows of the map."""

MAX_DOTS: Final = 2000
"""Of more, hosts with one verdict within 0.1 % share a dot."""

_ABOUT: Final = "A kind of number is what one sweep prints under one name. A host has its worst odd number there, else the median change of its numbers."

MAP: Final = Chart(
    id="map", title="How much worse each host is than the median", kind="heat", x="kind", y="host", panels=("where",), about=_ABOUT,
    x_title="kind of number", caption="Per cent worse than the median of the hosts, below 0 better.",
)  # fmt: skip

STRIP: Final = Chart(
    id="hosts", title="All hosts by kind of number", kind="strip", x="value", y="kind", color="name", panels=("place",), about=_ABOUT,
    x_title="worse than the median, %", y_title="kind of number", caption="A point is a host.",
)  # fmt: skip

_VERDICTS: Final = {"slow": "slow or broken", "broken": "slow or broken", "suspicious": "suspicious", "fast": "fast"}  # fmt: skip
_ORDER: Final = ["other", *dict.fromkeys(_VERDICTS.values())]


def figures(fleet: Fleet) -> list[Figure]:
    """Return the map and the strips; [] if no number was compared."""
    rows = kinds(fleet)
    shown = rows[rows["host"].isin(fleet.hosts.index[:MAX_HOSTS])]
    whole = shown.assign(value=shown["value"].round().astype(int), where=shown["place"], flags="")
    status = rows["status"].mask(rows["host"].isin(fleet.by_chance), "ok")
    dots = rows.assign(name=status.map(_VERDICTS).fillna("other"), where=rows["host"])
    dots = dots.drop_duplicates(["place", "kind", "name", "value"]) if len(dots) > MAX_DOTS else dots
    dots = dots.sort_values("name", key=lambda names: names.map(_ORDER.index), kind="stable")
    made = [vega.figure(MAP, whole), vega.figure(STRIP, dots)]
    return [figure for figure in made if figure]


def kinds(fleet: Fleet) -> pd.DataFrame:
    """Return a row per host and kind of number: host, place (its group), kind, status, value (per cent worse), flags;
    the worst host first."""
    from parsers.frames import pd

    names = fleet.numbers[["group", "program", "sweep", "title", "unit", "better"]]
    names = names.assign(kind=_titles(names))
    rows = fleet.points[fleet.points["worse"].notna()].join(names[["group", "kind"]], on="number")
    rows = rows.assign(rank=rows["status"].map(STATUSES.index), size=-rows["worse"].abs())
    is_odd = ~rows["status"].isin(["ok", "unknown"])
    odd = rows[is_odd].sort_values(["rank", "size"]).drop_duplicates(["host", "kind"])
    usual = rows.groupby(["host", "kind"], as_index=False).agg(
        worse=("worse", "median"), flags=("flags", "max"), group=("group", "first"), rank=("rank", "min")
    )
    cells = pd.concat([odd, usual], ignore_index=True).drop_duplicates(["host", "kind"])
    first = [*dict.fromkeys([*odd["kind"], *names["kind"]])][:MAX_KINDS]
    place = {host: i for i, host in enumerate(fleet.hosts.index)}
    several = cells["group"].nunique() > 1
    cells = cells[cells["kind"].isin(first)].assign(
        value=lambda c: (c["worse"] * 100).round(1), row=lambda c: c["host"].map(place),
        column=lambda c: c["kind"].map(first.index), status=lambda c: [STATUSES[rank] for rank in c["rank"]],
        place=lambda c: [listed(fleet.hosts.index[fleet.hosts["group"] == g]) if several else "" for g in c["group"]],
    )  # fmt: skip
    return cells.sort_values(["row", "column"]).reset_index(drop=True)


def _titles(names: pd.DataFrame) -> list[str]:
    """Return the kind of each number: its title, with what differs in others of that title."""
    facts = ["sweep", "program", "unit"]
    differs = names.groupby("title")[facts].transform("nunique") > 1
    more = zip(names[facts].to_numpy(), differs.to_numpy(), strict=True)
    return [
        ", ".join([title, *(text for text, shown in zip(*pair, strict=True) if shown)])
        for title, pair in zip(names["title"], more, strict=True)
    ]
