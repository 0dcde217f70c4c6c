"""What the measures of ADR 0003 are made on: recordings that we make, real ones where present, the real model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from records.adr_0003.hard_cases import Generated, generate
from records.adr_0003.held_out import Replay, by_file, by_time, replay_generated, replay_recordings
from records.adr_0003.sweep import ADR_0003_RULES
from records.subjects import archive, size_of
from workbench.analysis.ledger.run import Run
from workbench.matching.cassettes import Recording, read
from workbench.matching.library import ADR_0003, Library, MatchingSettings
from workbench.matching.request import Answer
from workbench.matching.vectors import TailEncoder, open_encoder
from workbench.types import content_hash

CASSETTES = ("cassettes-crewai", "cassettes-pydantic-ai")
INSTANCES = {"full": 6, "small": 2, "tiny": 1}
"""Recorded calls a template: 6 make about 1,700 new calls, so that none wrong of 176 served bounds at 1.7 %."""
KEY = b"matching claims"


def encoder(run: Run, *, cached: bool = False) -> TailEncoder:
    """The packaged model, 128 tokens; its file's hash goes into the ledger's header."""

    def opened() -> TailEncoder:
        found = open_encoder(ADR_0003.embedding_tokens, cached=cached)
        run.input("model", key=found.key)
        return found

    return run.once(("encoder", cached), opened)


def generated(run: Run, offset: int = 0) -> Generated:
    """Our own recordings by the run's seed; an offset gives an independent set to judge on."""

    def made() -> Generated:
        found = generate(seed=run.seed + offset, instances=INSTANCES[size_of(run)])
        calls = [[c.instance, c.kind, c.request.as_json()] for c in (*found.recorded, *found.asked)]
        run.input(
            "generated recordings" + (", another seed" if offset else ""), calls=content_hash(calls)
        )
        return found

    return run.once(("generated", offset), made)


def generated_replay(run: Run, offset: int = 0) -> Replay:
    return run.once(
        ("replay", offset),
        lambda: replay_generated(generated(run, offset), encoder=encoder(run, cached=True)),
    )


def where_generated(run: Run) -> str:
    made = generated(run)
    return f"generated recordings: {len(made.recorded)} entries, {len(made.asked):,} new calls, seed {run.seed}"


def recordings(run: Run, name: str) -> list[Recording] | str:
    """The calls of a public set of cassettes, or the plain reason why it is not there."""

    def loaded() -> list[Recording] | str:
        folder = archive(run, name)
        if isinstance(folder, str):
            return folder
        calls = [found for found in read(folder) if isinstance(found, Recording)]
        run.input(
            name,
            calls=content_hash(
                [[c.file, c.number, c.request.as_json(), c.answer.meaning] for c in calls]
            ),
        )
        return calls

    return run.once(("cassettes", name), loaded)


def real_replays(run: Run) -> tuple[dict[str, Replay], list[str]]:
    """Real calls held out by file and by time, by name; and the reasons why a set is absent."""

    def replayed() -> tuple[dict[str, Replay], list[str]]:
        found, absent = {}, []
        for name in CASSETTES:
            calls = recordings(run, name)
            if isinstance(calls, str):
                absent.append(calls)
                continue
            for how, splits in (("by file", by_file(calls)), ("by time", by_time(calls))):
                label = f"{name.removeprefix('cassettes-')}, {how}"
                found[label] = replay_recordings(label, splits, encoder=encoder(run, cached=True))
        return found, absent

    return run.once("real replays", replayed)


PARAMS = {"none": (), "this workbench's five": ADR_0003.include_params, "all": ("*",)}
"""What `include_params` can be; the record leaves it to the project and says no default."""


def by_parameters(run: Run) -> list[dict[str, Any]]:
    """The record's defaults on real calls held out by file, with more and more parameters that must be equal."""
    rows = []
    for name in CASSETTES:
        calls = recordings(run, name)
        for label, names in PARAMS.items() if isinstance(calls, list) else ():
            at = replay_recordings(
                name, by_file(calls), settings=replace(ADR_0003, include_params=names), gates=()
            )
            told = at.tally(ADR_0003_RULES)
            rows.append(
                {
                    "recordings": name.removeprefix("cassettes-"),
                    "parameters that must be equal": label,
                    "served right": told.counts["served right"],
                    "served wrong": told.counts["served wrong"],
                    "wrong by normalised": told.tiers.get(("normalised", "served wrong"), 0),
                    "exact, same answer": told.tiers.get(("exact", "served right"), 0),
                    "exact, other answer": told.tiers.get(
                        ("exact", "same request, other answer"), 0
                    ),
                }
            )
    return rows


def filled(texts: dict[str, Any], settings: MatchingSettings = ADR_0003, **options: Any) -> Library:
    """A library in memory of (name: request); each answers with its name."""
    library = Library(settings=settings, key=KEY, **options)
    library.record_many((request, Answer(name), "", 0) for name, request in texts.items())
    return library


@contextmanager
def on_disk(settings: MatchingSettings = ADR_0003, **options: Any) -> Iterator[Library]:
    """A library in a file of its own, gone afterwards."""
    with (
        TemporaryDirectory() as folder,
        Library(Path(folder) / "l.sqlite", settings=settings, key=KEY, **options) as library,
    ):
        yield library
