"""What is said of several files: verdicts on numbers, on hosts, on this host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reports.schemas._results import BETTER, DOUBTFUL, NAME, UNIT
from reports.schemas._words import (
    Schema,
    anything,
    flag,
    integer,
    listed,
    mapped,
    null,
    number,
    one_of,
    record,
    text,
)

_VALUES: Final = mapped(anything("The value."), "Label → value.")

_SERIES: Final[dict[str, Schema]] = {
    "tool": text("The tool."),
    "program": text("What measured: the tool, or its stand-in."),
    "sweep": text("The sweep."),
    "cell": text("The cell, for people."),
    "point_id": text("What names the cell in every answer."),
    "metric": text("The quantity with its statistic: latency p99."),
    "labels": _VALUES,
    "number": text("Cell and number, for people."),
    "unit": UNIT,
    "better": BETTER,
    "name": record("The number's name.", **NAME),
}

_OF_ALL: Final[dict[str, Schema]] = {
    "title": text("What it is."), "hosts": listed(text("A host.")), "files": listed(text("A result file.")), "sessions": integer("Sessions."),
    "evidence": integer("How many sessions they count as: what one boot did within an hour is one."),
    "runs": integer("Runs."), "left_out": integer("Runs that are not used."), "failed": integer("Runs without numbers."),
}  # fmt: skip

_SIDE: Final = record("One side.", **_OF_ALL)

_AGAIN: Final = record(
    "What --confirm measured again; null: nothing.",
    way=one_of("How: both sides in turns; B alone, against A's stored runs; some cells so, some so.", "in turns", "B alone", "partly in turns"),
    why_only_b=null(text("Why A was not measured again where it was not.")),
    sides=listed(record("Fresh runs.", side=one_of("For which side they stand.", "A", "B"), **_OF_ALL, paths=listed(text("Where a result file of theirs lies, absolute.")))),
    asked=integer("Numbers that had looked changed."), counts=mapped(integer("Numbers."), "Verdict → how many of these have it now."),
    numbers=integer("Numbers that are of fresh runs."), in_turns=integer("Those of which both sides are."), stored=integer("Other numbers of the same cells, which had not looked changed: of the stored runs."),
    not_repeatable=listed(record("A cell that could not be measured again; its numbers that had looked changed are inconclusive.", sweep=text("The sweep."), cell=text("The cell."), reason=text("Why."))),
)  # fmt: skip

_OF_SIDE: Final = record(
    "A number on one side.",
    median=null(number("Median, in the unit.")), runs=listed(number("A run, in the unit.")), sessions=integer("Sessions."), doubtful=DOUBTFUL,
    point_ids=listed(text("A cell."), "The cells that it is of; several where a curve goes over them."),
)  # fmt: skip

_FAILED: Final = record("A side of it.", failed=integer("Runs that failed."), runs=integer("Of how many."))

_COUNTS: Final = mapped(integer("Numbers."), "Verdict → numbers.")

_COMPARED: Final = record(
    "A number of a cell that both sides have.",
    sweep=text("The sweep."), tool=text("The tool."), cell=text("The cell, for people."), labels=mapped(anything("The value."), "Axis → value, as in the experiment; beside the axes what tells the number from others, as texts: metric, sweep, tool, direction …"),
    metric=text("The number, for people."), row=text('Which row of the tool\'s table; "": it has one.'), unit=UNIT, better=BETTER,
    derived=flag("Computed from a curve, not read."), name=record("The number's name.", **NAME),
    verdict=one_of("B against A. inconclusive: not known yet; no_verdict: each side has but one run.", "regressed", "improved", "same", "inconclusive", "no_verdict"),
    provisional=flag("Of one session a side: another day may say otherwise."), asked=flag("It had looked changed, and --confirm was to measure it again."), again=flag("Its runs of B are of those that --confirm made."),
    a=_OF_SIDE, b=_OF_SIDE, ratio=null(number("B / A.")), low=null(number("Lower end of its 95 % interval.")), high=null(number("Upper end; null: none.")),
    p=null(number("Two-sided; null: no test.")), q=null(number("The same, corrected for how many were tested.")), method=text("How it was decided: docs/verdicts.md."),
    sd=null(number("Standard deviation of the logs of the runs.")), df=null(number("Its degrees of freedom.")),
    tau=number("Standard deviation of the logs between sessions."), threshold=number("What counts as a change, as a share: 0.03."),
    resolution=number("The last printed digit through the value."),
    need_repeats=null(integer("Repeats a side, in all, that would decide.")), need_sessions=null(integer("Sessions a side, in all, that would decide.")),
    advice=text('What it takes to decide; "": nothing.'), disturbed=listed(one_of("A side whose every run was disturbed: inconclusive.", "A", "B")), matched=text("How the cells were matched: same, renamed, relative, path, share."), doubtful=DOUBTFUL,
)  # fmt: skip

_SESSION: Final = record(
    "A session.", host=text("Where."), started_utc=text("When, ISO 8601."), kernel=null(text("The kernel."))
)

_BASELINE: Final = record(
    "A baseline.",
    name=text("Its name."), first=text("Start of its first session, ISO 8601."), last=text("Start of its last session."),
    nodes=text("Its hosts, folded: n[001-004]."), files=listed(text("A file of it.")), sessions=listed(_SESSION, "The oldest first."),
)  # fmt: skip

_HOSTS: Final = listed(text("A host."))

ANSWERS: Final[Mapping[str, Schema]] = {
    "compare": record(
        "B against A.",
        schema=integer("1."), sentence=text("All of it in a sentence."), a=_SIDE, b=_SIDE, by=null(text("The axis of --by.")), again=null(_AGAIN),
        across_programs=listed(text("A tool that is compared with its stand-in.")),
        provisional=integer("Verdicts that rest on one session a side: another day may say otherwise."), clocks=listed(text("A clock that is not to be believed.")),
        counts=_COUNTS,
        fingerprint=record(
            "What is known of both sides' machines.", differs=listed(record("A fact.", what=text("Which."), a=text("On A."), b=text("On B."))),
            agrees=listed(text("A fact that is the same.")), unknown=listed(text("A fact that was not recorded.")),
        ),
        families=listed(record(
            "All cells of one benchmark and metric.", name=text("Its name."), counts=_COUNTS, median_ratio=null(number("B / A over all cells.")),
            tau=number("Standard deviation of the logs between sessions."), tau_source=text("Where that comes from."), threshold=null(number("What counts as a change, as a share.")),
        )),
        cells=listed(_COMPARED), unmatched=listed(record("What is not compared.", side=one_of("Which side has a number of it.", "A", "B", "both", "neither"), sweep=text("The sweep."), cell=text("The cell."), numbers=text('Which of its numbers; "": all.'), reason=text("Why, in a word."), detail=text("What differs in the nearest cell, or why its runs failed."))),
        failures=listed(record("A cell of which more runs failed on one side.", side=one_of("Where.", "A", "B"), sweep=text("The sweep."), cell=text("The cell."), reason=text('Why, of the first of them; "": not known.'), a=_FAILED, b=_FAILED)),
        modes=listed(record("A peak of a distribution that grew or shrank.", name=text("The number."), at=number("Where, in the unit."), unit=UNIT, share_a=number("Share of A's samples."), share_b=number("Share of B's."), by_chance=flag("It may be chance."), disturbed=listed(one_of("A side whose every run was disturbed.", "A", "B")))),
    ),
    "fleet": record(
        "Which hosts are slow, and in what.",
        accused=listed(text("A host."), "Slow or broken."), by_chance=listed(text("A host."), "Off in as many numbers as chance makes of equal hosts."), nodes=mapped(_HOSTS, "Verdict (slow, broken, suspicious, ok …) → hosts."), folded=mapped(text("Hosts, folded."), "The same: n[001-004]."),
        groups=listed(record(
            "Hosts of equal hardware.", hardware=_VALUES, nodes=_HOSTS, differs=null(text("How it differs from the largest group.")), judged=flag("There are enough to judge."),
            baseline_sessions=integer("Sessions of a baseline that they are compared with; 0: with each other."),
            numbers=listed(record(
                "A number.", **_SERIES, median=null(number("Median of the hosts, in the unit.")), spread=null(number("Spread of the hosts, as a share.")), nodes=integer("Hosts."),
                unseen=null(number("What loss could not be seen, as a share.")), worse_half=null(_HOSTS), doubtful=mapped(DOUBTFUL, "Host → checks."),
            )),
        )),
        odd=listed(record(
            "A number of a host that is not ok.", node=text("The host."), verdict=text("slow, suspicious, broken."), **_SERIES, value=number("In the unit."), median=null(number("Of the hosts, in the unit.")),
            change=null(number("Relative distance from the median: -0.05 is 5 % below.")), worse=null(number("How much worse, as a share.")), z=null(number("The same by the hosts' spread.")),
            sessions=integer("Sessions."), beyond_chance=flag("It is further off than chance makes of equal hosts."), reason=null(text("Why.")), doubtful=DOUBTFUL,
        )),
        everywhere=listed(record("A host that is worse a little in many numbers.", node=text("The host."), z=null(number("By the hosts' spread.")), worse=null(number("As a share.")), numbers=integer("Numbers."), confirmed=flag("In enough sessions."), doubtful=DOUBTFUL)),
        halves=listed(record("Two groups of hosts, of which one is worse: which is as it should be is not known.", worse=_HOSTS, better=_HOSTS, numbers=listed(text("A number in which they differ.")))),
        unlike=listed(record("What is not the same on hosts of a kind.", what=text("What."), nodes=_HOSTS, here=text("There."), others=text("Elsewhere."))),
        unmatched=listed(record("A cell that hosts ran in another way than most.", what=text("The cell, with the difference."), nodes=_HOSTS)),
        gaps=listed(record("Hosts whose results are missing.", what=text("What is missing."), of=_HOSTS, reason=null(text("Why.")))),
        missing=listed(record("A number that hosts lack.", what=text("The number."), nodes=_HOSTS)),
        rerun=mapped(listed(text("A sweep.")), "Host → what is to be measured again."), warnings=listed(text("A warning.")),
    ),
    "history": record(
        "When the numbers of hosts changed.",
        hosts=listed(record("A host.", host=text("Its name."), judged=flag("It has enough sessions."), sessions=listed(record("A session.", started_utc=text("As it was recorded, ISO 8601."), file=text("Its file."), session=integer("From 1 in its file."), clock=null(text("Why the time is not to be believed.")))))),
        steps=listed(record(
            "Numbers of a host that changed at once.", host=text("The host."), started_utc=text("The first session after it."), regressed=integer("Numbers that are worse."), improved=integer("Numbers that are better."),
            off_by_sessions=integer("It may have been so many sessions earlier or later."), differences=listed(record("What changed on the machine then.", what=text("What."), before=text("Before."), after=text("After."))),
            one_sided=listed(text("What is known of one side alone.")), numbers=listed(record("A number.", number=text("Its name."), word=text("regressed, improved, changed."), change=null(number("After - before, as a share of the size of before.")), ratio=null(number("After / before; null: one of both is 0 or below.")))),
        )),
        series=listed(record(
            "A number over time.", host=text("The host."), **_SERIES, judged=flag("It has enough sessions."), regressed=flag("It is down, and has not come back."),
            sessions=listed(record("A session.", started_utc=text("When."), value=number("Median of its runs, in the unit."), runs=integer("Runs."), doubtful=DOUBTFUL)),
            changes=listed(record("A change.", started_utc=text("The first session after it."), session=integer("Its index, from 0."), word=text("regressed, improved, changed."), before=number("In the unit."), after=number("In the unit."), change=null(number("After - before, as a share of the size of before.")), ratio=null(number("After / before; null: one of both is 0 or below.")))),
            recent=null(record("Its last sessions lie far outside, and are too few to be called a change.", word=one_of("What they say.", "regressed", "improved"), before=number("The level before, in the unit."), after=number("Their median."), change=number("After - before, as a share of the size of before."), ratio=null(number("After / before; null: one of both is 0 or below.")), started_utc=text("The first of them."), sessions=integer("How many."))),
            drift=null(record("It moved little by little; then none of its changes regressed or improved.", word=one_of("What it did.", "regressed", "improved"), before=number("At the first session, in the unit."), after=number("At the last one."), change=number("After - before, as a share of the size of before."), ratio=null(number("After / before; null: one of both is 0 or below.")))),
        )),
        gone=listed(record("A number that earlier sessions of a host have and the last ones do not.", host=text("The host."), **_SERIES, since_utc=text("The first session without it that ran its cell; of what is not run, the first without it."), sessions=integer("How many."), why=one_of("What became of it; left out: its runs were disturbed, misplaced or interrupted.", "failed", "left out", "not printed", "not run"), reason=text("The same, with the reason."))),
        warnings=listed(text("A warning.")),
    ),
    "check": record(
        "Is this host sound?",
        status=one_of("error: exit status 1; unknown: 3, it could not be found out.", "ok", "error", "unknown"), host=text("This host."),
        troubles=listed(record("What is wrong.", kind=text("What kind: wrong, failed, slow, unknown …"), id=text("For programs."), text=text("For people."))),
        result_file=null(text("Where the evidence is kept.")),
    ),
    "baseline-list": record("All baselines.", baselines=listed(_BASELINE)),
    "baseline-show": _BASELINE,
    "baseline-add": _BASELINE,
    "baseline-remove": record("A baseline that is no more.", name=text("Its name."), files_removed=integer("Copies that were deleted; the originals stay.")),
}  # fmt: skip
