"""What is no regular file is never opened, so that no reading waits for it; links are followed only when asked."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from workbench.sources.base import SourceError
from workbench.sources.readers import open_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text("tea")
    os.mkfifo(notes / "pipe.md")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(notes / "socket.md"))
    (notes / "device.md").symlink_to("/dev/zero")
    (tmp_path / "outside.md").write_text("outside")
    (notes / "linked.md").symlink_to(tmp_path / "outside.md")
    (notes / "again.md").symlink_to(notes / "linked.md")
    return notes


def test_pipes_sockets_and_devices_are_skipped_and_named(folder: Path) -> None:
    source = open_source(str(folder), kind="markdown")
    assert [c.text.split()[-1] for c in source.chunks()] == ["tea"]
    said = "\n".join(source.warnings)
    for name in ("pipe.md", "socket.md", "device.md"):
        assert name in said


def test_a_linked_file_is_read_as_a_linked_folder_is_only_when_asked_and_once(folder: Path) -> None:
    source = open_source(str(folder), kind="markdown", follow_links=True)
    assert sorted(c.text.split()[-1] for c in source.chunks()) == ["outside", "tea"]
    plain = open_source(str(folder), kind="markdown")
    assert [c.text.split()[-1] for c in plain.chunks()] == ["tea"] and "linked.md" in "\n".join(plain.warnings)


def test_a_source_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    for name in ("rows.jsonl", "rows.csv", "cranes.json"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(SourceError, match="pipe, socket or device"):
            list(open_source(str(tmp_path / name), kind="squad" if name.endswith("json") else "table").chunks())
