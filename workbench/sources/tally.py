"""Odd things found while reading: counted by kind, worded once, with the first examples."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.text import visible

# How many examples a warning names. Notes are mended one by one, so more of them are named.
EXAMPLES = 3
NOTES_NAMED = 20
# An example longer than this is cut, so that a hostile id cannot fill a screen.
EXAMPLE_CHARS = 160


@dataclass(slots=True)
class Tally:
    """One kind of oddity: how often it was met, and the first `shown` examples in the order met."""

    what: str
    shown: int = EXAMPLES
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: object) -> None:
        self.count += 1
        if len(self.examples) < self.shown:
            text = visible(str(example))
            self.examples.append(text if len(text) <= EXAMPLE_CHARS else text[:EXAMPLE_CHARS] + "…")

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.what}: {self.count:,} ({', '.join(self.examples)}{more})"

    def into(self, warnings: list[str]) -> None:
        """Append the message where anything was met; a second reading of the same source adds nothing."""
        if self.count and str(self) not in warnings:
            warnings.append(str(self))
