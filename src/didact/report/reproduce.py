"""Run studies and write their reports: the paper's tables and figures, and a page that has all."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from didact import __version__
from didact.errors import DidactError, InvalidParameter, Unsupported
from didact.files.json import write_bytes, write_text
from didact.files.kinds import PAGE, beginning_like, beginning_with
from didact.inputs import FAILURES, reason_of, shown
from didact.report.studies import (
    StudyReport,
    index_page,
    report_csv,
    report_markdown,
    report_records,
    times_csv,
    times_markdown,
)
from didact.studies.run import Watch, run_trials
from didact.studies.store import Store, stored_settings
from didact.studies.study import (
    BUILT_IN,
    Study,
    find_study,
    settings_document,
    study_names,
    with_changes,
)
from didact.studies.workers import workers_of

FOLDER, QUICK_FOLDER = "reproduction", "reproduction-quick"


class NoReport(DidactError):
    """No trial of a study succeeded, or what they found cannot be summed up."""


@dataclass(frozen=True, eq=False)
class Reproduced:
    """The reports of the studies that were run, and where they are.

    notes: what could not be drawn, and why. broken: studies of which no trial succeeded.
    """

    reports: tuple[StudyReport, ...]
    folder: Path
    notes: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every trial of every study is there."""
        return not self.broken and not any(report.failed for report in self.reports)

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "folder": os.fspath(self.folder),
            "notes": list(self.notes),
            "broken": list(self.broken),
            "studies": [_document(report) for report in self.reports],
        }


def reproduce(
    names: Sequence[str] | str,
    *,
    quick: bool = False,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    retry: bool = False,
    changes: Mapping[str, Any] | None = None,
    command: str = "",
    watch: Callable[[Study], Watch] | None = None,
) -> Reproduced:
    """Run studies, or what is left of them, and write their reports and a page that has all.

    names: of studies; 'all' is the paper's. quick: the small settings. out: the folder, by default
    'reproduction' or 'reproduction-quick'. jobs, cluster: local processes, or a Dask scheduler.
    retry: try again what failed three times. changes: other values for settings. watch: given a
    study, who is told of its progress.
    """
    chosen = [find_study(name) for name in _named(names)]
    settings = _chosen_settings(chosen, quick, changes or {})
    folder = Path(out if out is not None else QUICK_FOLDER if quick else FOLDER)
    for study, wanted in zip(chosen, settings, strict=True):
        Store(_store_of(folder, study), study, wanted).close()  # what is refused is refused at once
    most = max(study.n_trials(wanted) for study, wanted in zip(chosen, settings, strict=True))
    workers = workers_of(jobs, cluster, most)
    how, at_once = made_by(command), True
    reports: list[StudyReport] = []
    broken: list[str] = []
    drawn: dict[str, str] = {}
    notes: dict[str, None] = {}
    try:
        for study, chosen_settings in zip(chosen, settings, strict=True):
            told = None if watch is None else watch(study)
            try:
                with Store(_store_of(folder, study), study, chosen_settings) as store:
                    run_trials(study, chosen_settings, store, workers, watch=told, retry=retry)
                    report = report_of(study, chosen_settings, store)
            except NoReport as error:
                broken.append(str(error))
                continue
            reports.append(report)
            figures, lines = write_report(report, folder, how)
            drawn |= figures
            notes |= dict.fromkeys(lines)
        at_once = False
    finally:
        workers.stop(at_once=at_once)
    if not reports:
        raise NoReport("; ".join(broken))
    # The page has these studies, and those that earlier runs left in the folder.
    others, left_out = _other_reports(folder, [study.name for study in chosen])
    notes |= dict.fromkeys(left_out)
    for report in others:
        files, lines = drawn_figures(report, ("svg",))
        drawn |= {name: found["svg"].decode() for name, found in files.items()}
        notes |= dict.fromkeys(lines)
    order = study_names()
    listed = sorted([*reports, *others], key=lambda report: order.index(report.study.name))
    write_text(index_page(listed, how, drawn), folder / "index.html", kind=PAGE)
    return Reproduced(tuple(reports), folder, tuple(notes), tuple(broken))


def _named(names: Sequence[str] | str) -> list[str]:
    """The names once each, 'all' replaced by the paper's studies."""
    found: dict[str, None] = {}
    for name in [names] if isinstance(names, str) else names:
        found |= dict.fromkeys(BUILT_IN if name == "all" else [name])
    if not found:
        raise InvalidParameter(f"name a study: {', '.join(study_names())}, or all")
    return list(found)


def _chosen_settings(chosen: Sequence[Study], quick: bool, changes: Mapping[str, Any]) -> list[Any]:
    """The settings of every study, with those changes that it has a setting for."""
    for name in changes:
        if not any(study.has_setting(name) for study in chosen):
            there = {n for study in chosen for n in settings_document(study.settings)}
            there = {n for n in there if any(study.has_setting(n) for study in chosen)}
            raise InvalidParameter(
                f"{', '.join(study.name for study in chosen)}: there is no setting {shown(name)}; "
                f"there are {', '.join(sorted(there))}"
            )
    settings = []
    for study in chosen:
        its_own = {name: value for name, value in changes.items() if study.has_setting(name)}
        try:
            settings.append(with_changes(study.chosen_settings(quick=quick), its_own))
        except InvalidParameter as error:
            raise InvalidParameter(f"{study.name}: {error}") from None
    return settings


def _store_of(folder: Path, study: Study) -> Path:
    return folder / f"{study.name}.sqlite"


def report_of(study: Study, settings: Any, store: Store) -> StudyReport:
    """What a store comes to; refused when it holds no trial."""
    records = store.records()
    failed = store.quarantined()
    if not records:
        number, reason = next(iter(failed.items()), (0, "nothing was run"))
        raise NoReport(f"{study.name}: no trial succeeded; trial {number}: {reason}")
    seconds: dict[str, list[float]] = {}
    for measured in store.seconds().values():
        for name, value in measured.items():
            seconds.setdefault(name, []).append(value)
    try:
        summary = study.summarise(settings, list(records.values()))
    except FAILURES as error:
        raise NoReport(
            f"{study.name}: its {len(records)} trials are kept, but cannot be summed up: "
            f"{reason_of(error, 300)}"
        ) from error
    total = study.n_trials(settings)
    return StudyReport(study, settings, summary, records, seconds, store.runs(), failed, total)


def write_report(
    report: StudyReport, folder: Path, made: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Write a study's tables, records and figures.

    Its figures as SVG by name, for the page, and lines about what could not be drawn.
    """
    name = report.study.name
    texts = {
        f"{name}.md": report_markdown(report),
        f"{name}.csv": report_csv(report),
        f"{name}.jsonl": report_records(report),
        f"{name}-times.md": times_markdown(report, made),
        f"{name}-times.csv": times_csv(report),
    }
    for file, text in texts.items():
        own = beginning_like(text, 1, f"a report of {name}")
        if file.endswith(".jsonl"):
            own = beginning_with(b"{", f"records of {name}")
        write_text(text, folder / file, kind=own)
    drawn, notes = drawn_figures(report)
    for figure, files in drawn.items():
        for kind, content in files.items():
            own = beginning_with(content[:5], f"a picture ({kind})")
            write_bytes(content, folder / f"{figure}.{kind}", kind=own)
    return {figure: files["svg"].decode() for figure, files in drawn.items()}, notes


def drawn_figures(
    report: StudyReport, kinds: Sequence[str] | None = None
) -> tuple[dict[str, dict[str, bytes]], list[str]]:
    """The figures of a report as files, by name and kind; without Matplotlib none, and why."""
    figures = (*report.summary.figures, *report.time_figures)
    if not figures:
        return {}, []
    from didact.plots.studies import KINDS, pictures  # they load most of didact

    try:
        return {figure.name: pictures(figure, kinds or KINDS) for figure in figures}, []
    except Unsupported as error:
        return {}, [str(error)]


def made_by(command: str) -> dict[str, str]:
    """The command, the program, the machine and the date."""
    import numpy

    return {
        "command": command or "didact.report.reproduce",
        "program": f"didact {__version__}, Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _other_reports(folder: Path, names: Sequence[str]) -> tuple[list[StudyReport], list[str]]:
    """Reports of studies that stand in the folder from earlier runs, and lines on the others."""
    found, left_out = [], []
    for name in study_names():
        path = folder / f"{name}.sqlite"
        if name in names or not os.path.exists(path):
            continue
        study = find_study(name)
        try:
            settings = stored_settings(path, study)
            with Store(path, study, settings) as store:
                found.append(report_of(study, settings, store))
        except DidactError as error:
            left_out.append(f"not on the page: {error}")
    return found, left_out


def _document(report: StudyReport) -> dict[str, Any]:
    share = report.efficiency
    return {
        "name": report.study.name,
        "title": report.study.title,
        "settings": settings_document(report.settings),
        "trials": len(report.records),
        "failed": {str(number): reason for number, reason in report.failed.items()},
        "efficiency": None if share is None else round(share, 4),
        "departures": report.departures,
        "findings": [
            {
                "claim": f.claim.words,
                "source": f.claim.source,
                "holds": f.holds,
                "numbers": f.evidence,
            }
            for f in report.findings
        ],
    }
