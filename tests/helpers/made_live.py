"""A collection with an incident in it: a dated title among many chunks that share its words and numbers."""

from __future__ import annotations

import random

from workbench.types import Chunk, Facets

QUERY = "Ferry log 2024-03-17"
"""Terms ferry, log, 2024, 03, 17; the target's title."""
TARGET = 1990
SIZE = 700
SECRETS = ("grandmother", "lighthouse", "vermouth", "Ostrogoth", "harbourmaster", "quicksilver")
"""Words that the chunks hold and that nothing made up does."""

_OBJECTS = ("the lighthouse", "a crate of vermouth", "my grandmother", "an Ostrogoth coin", "the harbourmaster", "quicksilver")
_DEEDS = ("waited at the pier", "was painted twice", "came by the night boat", "left before the storm", "stood in the rain")


def chunks() -> list[Chunk]:
    """SIZE chunks with ids that leave gaps; ties, an exact repeat, a chunk without terms, and an id order that hides the target."""
    rng = random.Random(17)
    out = []
    for n in range(SIZE):
        point = 10 + 3 * n
        said = " ".join(f"{rng.choice(_OBJECTS).capitalize()} {rng.choice(_DEEDS)}." for _ in range(rng.randint(1, 9)))
        words = [w for w, share in (("ferry", 0.25), ("log", 0.3)) if rng.random() < share]
        date = f"2024-{rng.choice(('03', '04', '05'))}-{rng.choice(('17', '18', '19', '20'))}" if rng.random() < 0.6 else "undated"
        text = f"{date}. {said} {' and '.join(words)}"
        if n == (TARGET - 10) // 3:
            text = f"{QUERY}\n\n" + " ".join(f"{rng.choice(_OBJECTS).capitalize()} {rng.choice(_DEEDS)}." for _ in range(25))
        project = rng.choice(("pier", "museum", "cellar"))
        out.append(Chunk(point, f"e{point}", 0, text, text.split("\n")[0][:40], f"log/{point}", facets=Facets(project=project)))
    out[7] = Chunk(out[7].id, out[7].entity_id, 0, "of the", "", out[7].source, facets=out[7].facets)
    out[5] = Chunk(out[5].id, out[5].entity_id, 0, out[4].text, out[4].title, out[5].source, facets=out[4].facets)
    return out
