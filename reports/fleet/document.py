"""A fleet as a document: who is slow, in what, and what to do next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.checks import checks
from reports.document import Block, Column, Document, Fold, Heading, Quantity, Table, Text
from reports.fleet.judge import Fleet
from reports.results.convicted import but, checks_of, of_each
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.verdicts.fleet import (
    BROKEN,
    BY_SPREAD,
    BY_THRESHOLD,
    CONFIRMED,
    FEW,
    HALF,
    LEAST_HOSTS,
    SUSPICIOUS_Z,
)

if TYPE_CHECKING:
    import pandas as pd

_MAX_NAMED: Final = 12
_MAX_WARNINGS: Final = 4
_ROWS, _WIDE = 8, 40
"""Rows of a table on a terminal, and letters of the names of hosts there."""


def document(fleet: Fleet, *, title: str, next_commands: Sequence[str] = (), everything: bool = False, page: bool = False) -> Document:  # fmt: skip
    """Return the answer of `fleet`. everything: all numbers of all odd hosts. page: with figures and details."""
    most = 10**6 if everything or page else _ROWS
    caveats = _warnings(fleet)
    shown = caveats if page or everything else caveats[:_MAX_WARNINGS]
    blocks: list[Block] = [Text(verdict(fleet)), *(Text(text, "warning") for text in shown)]
    if len(shown) < len(caveats):
        blocks.append(Text(f"{fmt.plural(len(caveats) - len(shown), 'more warning')}: --all", "quiet"))
    blocks += [_odd_hosts(fleet, most), _remarks(fleet, most)]
    if everything:
        blocks.append(_odd_numbers(fleet, most))
    blocks += [Text(command, "next") for command in next_commands if command]
    if page:
        from reports.fleet.figures import figures

        blocks += [
            Heading("All hosts"),
            *figures(fleet),
            Fold("Odd numbers", (_odd_numbers(fleet, most),)),
            _about(fleet),
        ]
    blocks = [block for block in blocks if not isinstance(block, Table) or block.rows]
    return Document(title=title, blocks=tuple(blocks))


def verdict(fleet: Fleet) -> str:
    """Return the first line: "1 of 12 hosts is slow: n07. 2 more look slow: n03, n05."."""
    total, statuses = len(fleet.hosts), fleet.hosts["status"]
    suspects = [host for host in statuses.index[statuses == "suspicious"] if host not in fleet.by_chance]
    parts = []
    if slow := fleet.accused:
        words = " or ".join(word for word in ("broken", "slow") if (statuses == word).any())
        parts.append(
            f"{len(slow)} of {fmt.plural(total, 'host')} {'is' if len(slow) == 1 else 'are'} {words}{_names(slow)}."
        )
    if suspects:
        count = f"{len(suspects)} more" if slow else f"{len(suspects)} of {fmt.plural(total, 'host')}"
        parts.append(f"{count} {'looks' if len(suspects) == 1 else 'look'} slow{_names(suspects)}.")
    if parts:
        return " ".join(parts)
    if (statuses == "unknown").all():
        return "No host could be judged."
    return "No host is known to be slow."


def _names(hosts: Sequence[str]) -> str:
    return f": {listed(hosts)}" if len(hosts) <= _MAX_NAMED else ""


def _warnings(fleet: Fleet) -> list[str]:
    titles = {check.id: check.title for check in checks()}
    flags = {id for ids in fleet.odd["flags"] for id in checks_of(ids)}
    caveats = [f"Flagged numbers: {', '.join(f'{titles[id]} ({id})' for id in sorted(flags))}."] if flags else []
    caveats += [
        f"The hosts fall into two groups in {fmt.plural(len(numbers), 'number')}: {listed(worse)} worse than the others."
        for worse, numbers in fleet.halves.items()
    ]
    return [*caveats, *(fmt.sentence(text) for text in fleet.warnings)]


_COLUMNS: Final = (
    Column(name="host"), Column(name="status"), Column(name="number"), Column(name="value"), Column(name="median", spare=True),
    Column(name="change", unit="%", signed=True), Column(name="z", spare=True), Column(name="sessions", spare=True),
    Column(name="odd", title="odd numbers", spare=True), Column(name="reason", spare=True),
)  # fmt: skip


def _odd_hosts(fleet: Fleet, most: int) -> Table:
    """Return a row per host that is not ok, with its worst number."""
    from parsers.frames import pd

    hosts = fleet.hosts[~fleet.hosts["status"].isin(["ok", "unknown"]) & ~fleet.hosts["by_chance"]]
    first = _rows(fleet.odd.drop_duplicates("host")).set_index("host").reindex(hosts.index).astype(object)
    rows = first.assign(host=hosts.index, status=hosts["status"], odd=hosts["odd"]).to_dict("index")
    for e in (e for e in fleet.everywhere if e.name in rows):
        text = f"all: {fmt.percent(e.worse)} worse on average over {e.metrics}"
        rows[e.name] |= {"number": text, "z": e.z, "sessions": hosts["sessions"][e.name]}
        rows[e.name] |= dict.fromkeys(("value", "median", "change", "reason"))
    frame = pd.DataFrame([*rows.values()], columns=[*first, "host"], dtype=object)
    return _table(fleet, frame, id="suspects", title="Hosts that are not ok", most=most)


def _odd_numbers(fleet: Fleet, most: int) -> Table:
    return _table(fleet, _rows(fleet.odd), id="numbers", title="", most=most)


def _rows(odd: pd.DataFrame) -> pd.DataFrame:
    """Return `Fleet.odd` with the columns of `_COLUMNS`."""
    units = ["IOPS" if u == "1/s" and "IOPS" in m else u for u, m in zip(odd["unit"], odd["metric"], strict=True)]
    quantities: dict[str, list[Any]] = {
        name: [Quantity(None if v != v else v, unit) for v, unit in zip(odd[name], units, strict=True)]
        for name in ("value", "median")
    }
    reason = odd["reason"].where(~odd["reason"].isin(["", BY_SPREAD, BY_THRESHOLD]))
    return odd.assign(**quantities, reason=reason, odd=None)


def _table(fleet: Fleet, rows: pd.DataFrame, *, id: str, title: str, most: int) -> Table:
    """Return a table without empty columns, and without the flags of all numbers."""
    used = [column for column in _COLUMNS if rows[column.name].notna().any()]
    everywhere = of_each(list(fleet.points["flags"]))
    flags = rows["flags"].fillna("").map(lambda ids: but(ids, everywhere))
    return Table.from_frame(rows.assign(flags=flags), *used, id=id, title=title, most=most)


def _remarks(fleet: Fleet, most: int) -> Table:
    """Return what else is to be known of some hosts: missing results, other hardware or software, limits of the
    verdict."""
    rows: list[tuple[Sequence[str], str, str]] = [(gap.names, gap.what, gap.reason) for gap in fleet.gaps]
    empty = {host for gap in fleet.gaps if gap.what == "no number" for host in gap.names}
    reasons = fleet.hosts["reason"][(fleet.hosts["reason"] != "") & ~fleet.hosts.index.isin(empty)]
    for reason, group in reasons.groupby(reasons):
        hint = ": use --baseline, or compare --by host" if reason == FEW else ""
        rows.append((list(group.index), "not judged", f"{reason}{hint}"))
    if fleet.by_chance:
        rows.append((fleet.by_chance, "may be chance", "suspicious in as many numbers as equal hosts by chance"))
    rows += [(d.hosts, "differs", d.text) for d in fleet.unlike]
    for number, hosts in fleet.hosts.groupby("group"):
        names, kind = list(hosts.index), fleet.members.kinds[int(str(number))]
        numbers = fleet.numbers[fleet.numbers["group"] == number]
        if number:
            rows.append((names, "other hardware", kind.differences(fleet.members.kinds[0])))
        if past := [n for n in numbers["baseline"] if n]:
            rows.append((names, "baseline", f"compared with {min(past)} to {max(past)} past sessions"))
        blind = numbers["unseen"][(numbers["unseen"] > fleet.threshold) & ~numbers["worse_half"].map(bool)]
        if len(blind):
            rows.append(
                (
                    names,
                    "undetected",
                    f"up to {fmt.percent(blind.max())} worse in {fmt.plural(len(blind), 'number')}",
                )
            )
        if zero := int((numbers["median"] <= 0).sum()):
            rows.append((names, "not compared", f"{fmt.plural(zero, 'number')} with a median of 0 or below"))
    rows += [(hosts, "run in another way", what) for what, hosts in fleet.unmatched]
    rows += [(hosts, "no such number", what) for what, hosts in fleet.lacking if not {*hosts} <= empty]
    columns = Column(name="hosts"), Column(name="state"), Column(name="detail")
    shown = tuple((_folded(hosts, most), state, detail) for hosts, state, detail in rows)
    return Table(columns=columns, rows=shown, title="Also", id="also", most=most)


def _folded(hosts: Sequence[str], most: int) -> str:
    """Return the names of hosts; how many they are if a terminal has no room for the names."""
    names = listed(hosts)
    return names if len(names) <= _WIDE or most > _ROWS else fmt.plural(len(hosts), "host")


def _about(fleet: Fleet) -> Fold:
    least, half = fmt.percent(fleet.threshold), fmt.percent(fleet.threshold / 2)
    kinds = Table(
        columns=(Column(name="hosts"), Column(name="hardware")),
        rows=tuple((listed(hosts.index), fleet.members.kinds[int(str(group))].name) for group, hosts in fleet.hosts.groupby("group")),
        title="Hosts of equal hardware",
    )  # fmt: skip
    return Fold(
        "About these verdicts",
        (
            kinds,
            Text(f"Hosts of equal hardware are compared with each other, or with a baseline. At least {LEAST_HOSTS} hosts are needed without one."),
            Text(f"slow: {least} worse than the median in each of {CONFIRMED} sessions, and more than chance makes. broken: {fmt.percent(BROKEN)} worse."),
            Text(f"suspicious: {least} worse in fewer sessions, or {half} worse and z above {SUSPICIOUS_Z}. fast: as much better as a slow host is worse."),
            Text("z: distance from the median in robust standard deviations, above 0 is worse."),
            Text(f"Two groups: more than {fmt.percent(HALF)} of the hosts are in the smaller one. Then no host is judged in that number."),
        ),
    )  # fmt: skip
