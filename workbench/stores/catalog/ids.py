"""Point ids and catalog rows: row `cid` is the place of a point in point-id order, found by binary search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.stores.catalog.errors import StagingError, UnknownPoint
from workbench.types import PointId

if TYPE_CHECKING:
    import pyarrow as pa

UUID_LENGTH = 36  # canonical text form, RFC 9562
LARGEST_INTEGER_ID = 2**64 - 1  # Qdrant's integer ids are unsigned 64-bit


@dataclass(frozen=True, slots=True, eq=False)
class PointIds:
    """All point ids of a catalog in point-id order: `numbers` (uint64), then `uuids` (S36), each ascending.

    `cid` is 0-based: an id's index in the two arrays put end to end.
    """

    numbers: np.ndarray
    uuids: np.ndarray

    @classmethod
    def of(cls, texts: pa.ChunkedArray) -> PointIds:
        """The ids of the `point_id` column, in cid order.

        Raises StagingError where an id is neither a decimal integer nor a UUID, or where the order is broken.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        is_uuid = pc.equal(pc.binary_length(texts), UUID_LENGTH)
        first_uuid = pc.index(is_uuid, True).as_py()
        split = len(texts) if first_uuid < 0 else first_uuid
        try:
            numbers = pc.cast(texts.slice(0, split), pa.uint64())
        except pa.ArrowInvalid as error:
            raise StagingError(
                f"a point id is neither an unsigned integer nor a UUID: {error}"
            ) from error
        uuids = texts.slice(split)
        ids = cls(
            numbers.to_numpy().astype(np.uint64),
            np.asarray(uuids.to_numpy(zero_copy_only=False), dtype=f"S{UUID_LENGTH}"),
        )
        if not pc.all(is_uuid.slice(split)).as_py() and len(uuids):
            raise StagingError(
                "an integer point id follows a UUID", do="Integers come first in point-id order"
            )
        for kind in (ids.numbers, ids.uuids):
            broken = np.flatnonzero(kind[1:] <= kind[:-1])
            if broken.size:
                raise StagingError(
                    f"point id {_plain(kind[broken[0] + 1])} does not ascend", do="Sort by point id"
                )
        return ids

    def __len__(self) -> int:
        return len(self.numbers) + len(self.uuids)

    def at(self, cids: Sequence[int] | np.ndarray) -> list[PointId]:
        """The ids of these rows, in the order given."""
        split = len(self.numbers)
        return [_plain(self.numbers[c] if c < split else self.uuids[c - split]) for c in cids]

    def cids(self, ids: Sequence[PointId]) -> np.ndarray:
        """The rows (int32) of these ids, in the order given. Raises UnknownPoint for one that is absent."""
        rows = np.empty(len(ids), dtype=np.int64)
        is_text = np.fromiter((isinstance(i, str) for i in ids), dtype=bool, count=len(ids))
        numbers = [i for i in ids if not isinstance(i, str)]
        uuids = [i for i in ids if isinstance(i, str)]
        rows[~is_text] = _found(self.numbers, _numbers(numbers), numbers)
        rows[is_text] = _found(self.uuids, _uuids(uuids), uuids) + len(self.numbers)
        return rows.astype(np.int32)


def _numbers(ids: list[int]) -> np.ndarray:
    for i in ids:
        if not 0 <= i <= LARGEST_INTEGER_ID:
            raise _unknown(i)
    return np.array(ids, dtype=np.uint64)


def _uuids(ids: list[str]) -> np.ndarray:
    for i in ids:
        if not (len(i) == UUID_LENGTH and i.isascii()):
            raise _unknown(i)
    return np.array(ids, dtype=f"S{UUID_LENGTH}")


def _found(known: np.ndarray, wanted: np.ndarray, ids: list) -> np.ndarray:
    if not len(wanted):
        return np.empty(0, dtype=np.int64)
    if not len(known):
        raise _unknown(ids[0])
    places = np.searchsorted(known, wanted)
    absent = np.flatnonzero(known[np.minimum(places, len(known) - 1)] != wanted)
    if absent.size:
        raise _unknown(ids[absent[0]])
    return places


def _plain(value: np.generic) -> PointId:
    return value.decode("ascii") if isinstance(value, bytes) else int(value)


def _unknown(point_id: PointId) -> UnknownPoint:
    return UnknownPoint(f"the collection has no point {point_id!r}")
