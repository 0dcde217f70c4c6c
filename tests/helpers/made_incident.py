"""A small incident file for tests, any key of it replaced, and an embedder without a model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.text import DEFAULT

DIM = 32

TEXT = """
name = "made"
about = "A call that was not found by its title."
size = 600
seed = 7

[[query]]
id = "title"
text = "Call 2025-04-04 08:35"

[[query]]
id = "words"
text = "call about the harbour"

[limits]
lexical = 40
semantic = 40

[terms]
call = 60
2025 = 150
04 = 140
08 = 90
35 = 50
about = 100
harbour = 9

[[cell]]
holds = ["2025", "04"]
rows = 30
[[cell]]
holds = ["04", "08", "35"]
rows = 4
[[cell]]
holds = ["2025", "about"]
rows = 20

[target]
entity = "call-1"
title = "Call 2025-04-04 08:35"
source = "recording/call-1"
project = "calls"
created = "2025-04-04T08:45:00Z"
position = 590
[[target.chunk]]
characters = 1500
says = ["Ana: Am fost la harbour."]
[[target.chunk]]
characters = 900

[[group]]
name = "dated"
rows = 60
holds = ["2025"]
headings = ["Talk {year}-{month}-{day} {hour}:{minute}"]
bodies = ["With {person}."]
[[group]]
name = "calls of other years"
rows = 30
holds = ["call"]
headings = ["Call {year}-{month}-{day} {hour}:{minute}"]
bodies = ["{person} prepares {thing}."]
projects = ["desk"]
within = [0.0, 0.5]

[[phrase]]
text = "tea break"
rows = 12
sentences = ["The {phrase} of {person}.", "No {phrase} in {file}."]

[filler]
average_by_target = 2.3
shortest = 20
least_length = [0, 0, 0, 0.8, 1.6]
projects = ["desk", "calls", "garden"]

[checks]
lexically_first = ["title"]
"""


def incident_file(folder: Path, *changes: tuple[str, str], text: str = TEXT) -> Path:
    """The incident's file, with each (old, new) replaced; an old text that is not there is a mistake of the test."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "made.toml"
    path.write_text(text, encoding="utf-8")
    return path


def embed(texts: Sequence[str]) -> np.ndarray:
    """(n, DIM) unit vectors: a common direction, and one of its own for each term."""
    out = np.zeros((len(texts), DIM), np.float32)
    out[:, 0] = 1
    for row, text in enumerate(texts):
        terms = DEFAULT.terms(text)
        for term in terms:
            out[row] += np.random.default_rng(zlib.crc32(term.encode())).normal(size=DIM) / (6 * len(terms) ** 0.5)
    return out / np.linalg.norm(out, axis=1, keepdims=True)
