"""The alert rules of docs/openmetrics.md: read and evaluated by Prometheus' own promtool, and scraped by node_exporter, where those are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from reports.export import openmetrics
from reports.fleet.answer import as_metrics
from reports.fleet.judge import judge
from reports.results.load import load
from tests.waits import until

PAGE = Path(__file__).resolve().parents[3] / "docs" / "openmetrics.md"
GROUPS, GRAFANA = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
HOSTS = [f"node{n:02}" for n in range(1, 13)]
SLOW, OTHER = "node03", "node12"


def program(*names: str) -> str:
    """Return a program of Prometheus. Skips where it is not installed."""
    found = os.environ.get(f"PINSWEEP_{names[0].upper()}") or next(filter(None, map(shutil.which, names)), "")
    return found or pytest.skip(f"{names[0]} is not installed (apt: prometheus, prometheus-node-exporter)")


@pytest.fixture(scope="module")
def texts(make: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Twelve hosts, three days: node03 is 15 % slow, node12 is of another kind and much slower. Their export, the fleet's."""
    folder = tmp_path_factory.mktemp("alerts")
    for n, host in enumerate(HOSTS):
        for day in (1, 2, 3):
            maker = make.Maker(folder / f"{host}-{day}.db", host=host)
            maker.started, maker.ended = (f"2026-11-0{day}T0{hour}:00:00+00:00" for hour in (1, 2))
            maker.facts = {**make.FACTS, **({"cpu_model": "AMD EPYC 7551"} if host == OTHER else {})}
            for threads, rate in ((1, 10e3), (4, 20e3)):
                rate *= {SLOW: 0.85, OTHER: 0.5}.get(host, 1 + 0.001 * (n % 5))
                maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))  # fmt: skip
            maker.write()
    results = load(sorted(folder.iterdir()))
    fleet = judge(results, expected=[*HOSTS, "node13"])
    return openmetrics.text(results), as_metrics(fleet)


def samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    families = text_string_to_metric_families(text)
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def test_a_verdict_is_one_word_of_each_host(texts: tuple[str, str]) -> None:
    got = samples(texts[1])
    holds = {labels["host"]: labels["verdict"] for labels, value in got["pinsweep_fleet_verdict"] if value}

    assert len(got["pinsweep_fleet_verdict"]) == 7 * len(HOSTS)
    assert holds == {**dict.fromkeys(HOSTS, "ok"), SLOW: "broken", OTHER: "not judged"}
    assert got["pinsweep_fleet_missing"] == [({"host": "node13", "what": "no result"}, 1)]
    assert {value for _, value in got["pinsweep_fleet_sessions"]} == {3}
    assert {value for _, value in got["pinsweep_fleet_last_session_timestamp_seconds"]} == {1_793_667_600.0}


@pytest.mark.parametrize("which", [0, 1])
def test_promtool_reads_what_is_written(texts: tuple[str, str], which: int) -> None:
    done = subprocess.run(
        [program("promtool"), "check", "metrics"], input=texts[which], capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_each_alert_fires_for_the_host_that_it_is_about_and_no_other(texts: tuple[str, str], tmp_path: Path) -> None:
    series = []
    for text in texts:
        for name, own in samples(text).items():
            for labels, value in own:
                if name.endswith("_timestamp_seconds"):  # promtool's clock begins at 0
                    value = -8 * 86400.0 if labels["host"] == OTHER else -86400.0
                instance = labels.get("host", "") if text is texts[0] else "admin"  # each scraped at home
                inside = ",".join(f'{k}="{v}"' for k, v in {**labels, "instance": instance}.items())
                series.append({"series": f"{name}{{{inside}}}", "values": f"{value:.12g}+0x10"})

    old, new = (
        f'node_textfile_mtime_seconds{{file="/var/lib/x/pinsweep{name}.prom",instance="admin"}}'
        for name in ("-fleet", "")
    )
    series += [
        {"series": old, "values": f"{-3 * 86400}+0x10"},
        {"series": new, "values": f"{-30 * 86400}+0x10"},
    ]

    low = {"host": SLOW, "instance": SLOW, "sweep": "scaling", "kernel": "triad", "program": "STREAM", "cpu_model": "Intel(R) Core(TM) i7-6700HQ CPU @ 2.60GHz"}  # fmt: skip
    expected = [
        fires("PinsweepHostSlow", {"host": SLOW, "instance": "admin", "verdict": "broken"}),
        fires("PinsweepHostSuspicious"),
        fires("PinsweepHostInWorseHalf"),
        fires("PinsweepHostNotJudged", {"host": OTHER, "instance": "admin", "verdict": "not judged"}),
        fires("PinsweepFleetGone"),
        fires("PinsweepFleetOld", {"file": "/var/lib/x/pinsweep-fleet.prom", "instance": "admin"}),
        fires("PinsweepResultsOld", {"host": OTHER, "instance": OTHER}),
        fires("PinsweepHostMissing", {"host": "node13", "instance": "admin", "what": "no result"}),
        fires("PinsweepHostNotScreened", {"host": OTHER, "instance": "admin"}),
        fires("PinsweepBandwidthLow", {**low, "threads": "1"}, {**low, "threads": "4"}),
    ]
    promtool_agrees(tmp_path, series, expected)


def test_alerts_on_what_is_suspicious_in_the_worse_half_or_not_there_at_all(tmp_path: Path) -> None:
    host = {"host": "n1", "instance": "admin"}
    series = [
        {
            "series": 'pinsweep_fleet_verdict{host="n1",instance="admin",verdict="suspicious"}',
            "values": "1x10 _x200",
        },
        {"series": 'pinsweep_fleet_worse_half{host="n1",instance="admin"}', "values": "2x10 _x200"},
    ]
    there = [
        fires("PinsweepHostSuspicious", {**host, "verdict": "suspicious"}),
        fires("PinsweepHostInWorseHalf", host),
        fires("PinsweepFleetGone"),
    ]
    gone = [fires("PinsweepHostSuspicious", at="2h"), fires("PinsweepFleetGone", {}, at="2h")]

    promtool_agrees(tmp_path, series, [*there, *gone])


def fires(alert: str, *labels: dict[str, str], at: str = "5m") -> dict[str, Any]:
    """Return what promtool expects: with which labels an alert of the page fires."""
    rule = next(r for r in GROUPS["groups"][0]["rules"] if r.get("alert") == alert)
    expected = []
    for own in labels:
        said = re.sub(r"{{ \$labels\.(\w+) }}", lambda m, own=own: own[m[1]], rule["annotations"]["summary"])
        expected.append({"exp_labels": own, "exp_annotations": {"summary": said}})
    return {"eval_time": at, "alertname": alert, "exp_alerts": expected}


def promtool_agrees(folder: Path, series: list[dict[str, str]], expected: list[dict[str, Any]]) -> None:
    promtool = program("promtool")
    rules, tests = folder / "pinsweep.rules.yml", folder / "test.yml"
    rules.write_text(yaml.safe_dump(GROUPS), encoding="utf-8")
    suite = {
        "rule_files": [str(rules)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": expected}],
    }
    tests.write_text(yaml.safe_dump(suite), encoding="utf-8")
    for words in (["check", "rules", rules], ["test", "rules", tests]):
        done = subprocess.run([promtool, *words], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_node_exporter_passes_on_what_is_written(texts: tuple[str, str], tmp_path: Path) -> None:
    exporter = program("prometheus-node-exporter", "node_exporter")
    folder = tmp_path / "textfile"
    folder.mkdir()
    for name, text in zip(("pinsweep.prom", "pinsweep-fleet.prom"), texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    log = tmp_path / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [exporter, "--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}", "--web.listen-address=127.0.0.1:0"],
            stderr=stderr,
        )  # fmt: skip
    try:
        until(lambda: re.search(r"address=127\.0\.0\.1:(\d+)", log.read_text()))
        port = re.findall(r"address=127\.0\.0\.1:(\d+)", log.read_text())[-1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
            scraped = samples(page.read().decode())
    finally:
        process.kill()
        process.wait()

    assert scraped["node_textfile_scrape_error"] == [({}, 0)]
    for text in texts:
        for name, own in samples(text).items():
            assert sorted((sorted(labels.items()), value) for labels, value in scraped[name]) == sorted(
                (sorted(labels.items()), value) for labels, value in own
            )


def test_the_rule_for_grafana_asks_what_that_of_prometheus_asks() -> None:
    of_prometheus = {rule["alert"]: rule for rule in GROUPS["groups"][0]["rules"] if "alert" in rule}
    (rule,) = GRAFANA["groups"][0]["rules"]
    asked, decided = rule["data"]

    assert asked["model"]["expr"] == of_prometheus[rule["title"]]["expr"]
    assert rule["annotations"] == of_prometheus[rule["title"]]["annotations"]
    assert decided["model"]["expression"] == asked["refId"] == asked["model"]["refId"]
    assert rule["condition"] == decided["refId"] == decided["model"]["refId"]
