"""Which numbers stand at the head of a page, and of how many each is the best. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from reports.charts import facets
from reports.checks.audit import doubts
from reports.checks.doubts import mark
from reports.page.model import KeyNumber
from reports.results.convicted import Guilty, but, checks_of
from reports.results.grouping import group_by
from reports.results.model import Results, texts_of
from reports.text import format as fmt

_MOST = 6


def chosen(
    candidates: Iterable[KeyNumber], results: Results, guilty: Guilty
) -> tuple[tuple[KeyNumber, ...], str]:
    """Return the page's key numbers in its order, and by which rule they were picked, where sweeps have more of one name than fit: of those
    of one name, program and direction the best, which says of how many hosts or texts, with the checks (`guilty`: cell → their ids) that
    convict it. Each name has its first number before one has its second."""
    alike = group_by(doubted(candidates, guilty), lambda n: (n.name, n.program, n.better))
    best = [_of_others(best_of(same), same, results) for same in alike.values()]
    families = group_by(sorted(best, key=lambda n: n.rank), lambda n: n.name)
    many = {name: len(own) for name, own in families.items() if len(own) > _MOST}
    ranked = [sorted(own, key=_matters) if name in many else own for name, own in families.items()]
    picked = [n for nth in zip_longest(*ranked) for n in nth if n][:_MOST]
    told = [f"{count} called “{name}”" for name, count in many.items()]
    rule = (
        f"Of {fmt.words(told)} those that a check doubts come first here, then those whose repeats are furthest apart."
        if told
        else ""
    )
    return tuple(_of_text(n) for n in sorted(picked, key=lambda n: n.rank)), rule


def _matters(number: KeyNumber) -> tuple[bool, float]:
    return not number.doubt, -number.apart


def doubted(candidates: Iterable[KeyNumber], guilty: Guilty) -> Iterator[KeyNumber]:
    """Give the numbers with the checks (`guilty`: cell → their ids) that convict their cells; what their contexts tell of another number has a mark
    of its own."""
    for n in candidates:
        doubt = doubts(guilty, (*n.runs, *n.beside), n.metric)
        other = but(doubts(guilty, n.runs, n.told_metric), checks_of(doubt)) if n.told else ""
        context = n.context.replace(n.told, f"{n.told}{mark(other)}", 1) if other else n.context
        yield replace(n, context=context, told_doubt=other, doubt=doubt)


def best_of(same: Sequence[KeyNumber]) -> KeyNumber:
    """Return the number of the most merit; of those that look the same that which the fewest checks convict."""
    most = max(same, key=lambda n: n.merit)
    ties = [n for n in same if (n.value, n.unit) == (most.value, most.unit)]
    return min(ties, key=lambda n: (len(n.doubt.split()), -n.merit))


def _of_others(best: KeyNumber, same: list[KeyNumber], results: Results) -> KeyNumber:
    """Say of several texts, or of hosts and texts, that give this number that it is the best one's; of very many hosts that it is that of
    their medians, whose range is no unsteadiness and whose number no n of repeats."""
    cells = [runs for number in same for runs in (number.runs, *((run,) for run in number.below))]
    hosts = len({run.host for number in same for run in number.runs if not run.captured})
    if hosts > facets.MOST_HOSTS:
        return replace(best, context=f"{best.context}; median of {hosts} hosts", unsteady=False, spread="")
    hosts = len({run.host for runs in cells for run in runs if not run.captured})
    named = texts_of(results.runs)
    texts = {frozenset((run.file, named[run]) for run in runs if run in named) for runs in cells}
    texts -= {frozenset()}
    parts = {run.source for runs in cells for run in runs if run.source}
    if hosts + max(len(texts), len(parts)) < 2:
        return best
    # not how many: a curve gives one number of many texts
    several = ["several parts"] if len(texts) == 1 < len(parts) else ["several texts"] if texts else []
    counted = [*([fmt.plural(hosts, "host")] if hosts else []), *several]
    if f"of {fmt.words(counted)}" in best.context:
        return best
    word = "best" if hosts else "lowest" if best.merit < 0 else "highest"
    return replace(best, context=f"{best.context}; {word} of {fmt.words(counted)}")


def _of_text(number: KeyNumber) -> KeyNumber:
    """Say which text it is of, where several were taken in and the number does not say it yet."""
    texts = {run.text for run in number.runs}
    text = texts.pop() if len(texts) == 1 else ""
    told = text in number.context or any(run.source and run.source in number.context for run in number.runs)
    return number if told else replace(number, context=f"{number.context}; of {text}")
