"""The rows of a table file, whatever its format: streamed, each with a number that an error can name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.sources.files import cell_rows, json_rows, named_rows, suffix_of
from workbench.sources.source import SourceError

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}
PARQUET_BATCH = 1_000


def format_of(path: Path) -> str | None:
    """The table format that a file's name tells."""
    return FORMATS.get(suffix_of(path))


def numbered(path: Path) -> bool:
    """Whether a TSV begins with a whole number and one more cell: no header does."""
    _, first = next(cell_rows(path, "\t"), (0, []))
    return len(first) == 2 and first[0].strip().isdecimal()


def table_rows(path: Path, table_format: str, names: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, or row number in Parquet, 1-based; column to value). `names` are the columns of a file without a
    header. Raises SourceError."""
    if table_format == "jsonl":
        return json_rows(path)
    if table_format == "parquet":
        return _parquet_rows(path)
    return named_rows(path, "\t" if table_format == "tsv" else ",", names)


def table_columns(path: Path, table_format: str) -> list[str]:
    """The columns of the header, the schema, or the first JSON object. Raises SourceError where there is none."""
    if table_format == "parquet":
        return list(_parquet(path).schema_arrow.names)
    if table_format == "jsonl":
        first = next(json_rows(path), None)
        if first is None:
            raise SourceError("the table is empty", where=str(path))
        return list(first[1])
    first = next(named_rows(path, "\t" if table_format == "tsv" else ","), None)
    if first is None:
        raise SourceError("the table has a header and no rows", where=str(path))
    return list(first[1])


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"not a Parquet file: {error}", where=str(path)) from None


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa

    number = 0
    with _parquet(path) as file:
        try:
            for batch in file.iter_batches(batch_size=PARQUET_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"the Parquet file is damaged: {error}", where=f"{path}:{number + 1}") from None
