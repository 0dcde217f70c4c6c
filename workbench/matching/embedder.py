"""The embedding tier's model, opened when the tier is switched on, refused with a reason where it is missing.

The matching package imports and serves without fastembed; nothing here is imported until the tier is on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import NotAvailable

if TYPE_CHECKING:
    import numpy as np


class TailEncoder:
    """Texts cut to `tokens` (the model's two special ones among them) and embedded to unit float32 rows.

    `calls` counts texts handed to the model: a hit leaves it as it was.
    """

    def __init__(self, embedder: Any, tokenizer: Any, tokens: int) -> None:
        self._embedder, self._tokenizer, self._tokens = embedder, tokenizer, tokens
        self.key = f"{embedder.model.key}/{tokens}"
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += len(texts)
        return self._embedder.embed([self.cut(t) for t in texts])

    def cut(self, text: str) -> str:
        """The part of the text that the first tokens cover, without the two special ones."""
        if text.isascii() and len(text) <= self._tokens - 2:
            return text
        offsets = [o for o in self._tokenizer.encode(text, add_special_tokens=False).offsets if o[1] > o[0]]
        kept = offsets[: self._tokens - 2]
        return text[: kept[-1][1]] if len(offsets) > len(kept) else text


def open_encoder(tokens: int, *, cached: bool = False) -> TailEncoder:
    """The encoder over the model that the user's settings name. Raises NotAvailable that says what is missing.

    Nothing is fetched unless the settings' `fetch` is on. A library keeps its entries' vectors itself and no
    request's, so only a replay that embeds the same texts in every run asks for the home's cache.
    """
    why = "embeddings are switched on for this library and cannot run"
    try:
        from workbench.matching.settings import OFFLINE, switched
        from workbench.settings import home, settings
        from workbench.stores.embedding import Embedder
        from workbench.stores.model import UnknownModel, find_model, open_model

        chosen = settings()
        found = find_model(chosen.model, fetch=chosen.fetch and not switched(OFFLINE))
        tokenizer = open_model(found).model.tokenizer
    except ImportError as error:
        raise NotAvailable(
            f"{why}: {error}", do="Install the embedding packages, or switch embeddings off"
        ) from error
    except (NotAvailable, UnknownModel) as error:
        raise NotAvailable(f"{why}: {error}", do="Fetch the model, or switch embeddings off") from error
    return TailEncoder(Embedder(found, home() / "embeddings.sqlite" if cached else None), tokenizer, tokens)
