"""Return the descriptions of experiments, with the sweeps that have runs. Pure."""

from __future__ import annotations

from orchestrator.experiment.load import parse_experiment
from parsers.errors import UserError
from reports.results.model import Results
from reports.text import format as fmt


def abouts(results: Results) -> tuple[str, ...]:
    """Return the descriptions of the experiments without duplicates, and the completed sweeps of partial runs."""
    descriptions = (
        " ".join(filter(None, (experiment.about.strip(), _part(experiment.text, experiment.path, results))))
        for experiment in results.experiments
        if experiment.about.strip()
    )
    return tuple(dict.fromkeys(descriptions))


def _part(text: str, path: str, results: Results) -> str:
    """Return "Only a part of it ran here: “Latency”; not “Files” and “Disk”.".

    "" if all sweeps ran, or the text is not valid in this version.
    """
    try:
        titles = {sweep.name: sweep.title or sweep.name for sweep in parse_experiment(text, path).sweeps}
    except UserError:
        return ""
    ran = {run.cell.sweep for run in results.runs}
    here = [title for name, title in titles.items() if name in ran]
    left = [title for name, title in titles.items() if name not in ran]
    if not here or not left:
        return ""
    return f"Only a part of it ran here: {_quoted(here)}; not {_quoted(left)}."


def _quoted(titles: list[str]) -> str:
    return fmt.words([f"“{title}”" for title in titles])
