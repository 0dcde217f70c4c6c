"""Files as text: decoding that names what it had to replace, rows with their line numbers, walking a folder."""

from __future__ import annotations

import csv
import gzip
import json
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from workbench.sources.base import SourceError

# ---- Files as text: decoding that names what it had to replace, rows with their line number ----

# The csv module refuses fields above 131,072 characters by default; a document may be longer. A C long of 32 bits
# is the narrowest on any platform.
csv.field_size_limit(2**31 - 1)

ENCODINGS_BY_MARK = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def existing(location: str | Path, what: str) -> Path:
    """The path where something is there. Raises SourceError."""
    path = Path(location).expanduser()
    if not path.exists():
        raise SourceError(f"{what} is not there", where=str(path), do="Check the path")
    return path


def existing_folder(location: str | Path, what: str) -> Path:
    """The path where a folder is there. Raises SourceError."""
    path = existing(location, what)
    if not path.is_dir():
        raise SourceError(f"{what} is a file", where=str(path), do="Name the folder that holds it")
    return path


def existing_file(location: str | Path, what: str) -> Path:
    """The path where a file is there. Raises SourceError."""
    path = existing(location, what)
    if path.is_dir():
        raise SourceError(f"{what} is a folder", where=str(path), do="Name the file itself")
    return _regular(path)


def _regular(path: Path) -> Path:
    """The path unless reading it could wait without end. Raises SourceError."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise SourceError(
            "it is a pipe, socket or device", where=str(path), do="Name a regular file"
        )
    return path


def read_json(path: Path) -> Any:
    """The JSON value of a whole file. Raises SourceError."""
    try:
        return parse_json(_regular(path).read_bytes(), str(path))
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from None


def decode(data: bytes) -> tuple[str, str]:
    """Bytes as text with `\\n` line ends, and what was wrong ("" where nothing was).

    A byte order mark names the encoding, else UTF-8; bytes that do not fit become U+FFFD.
    """
    encoding = "utf-8"
    for mark, named in ENCODINGS_BY_MARK:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], named
            break
    problem = ""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"line {line}: not {encoding.upper()} (byte 0x{data[error.start]:02x})"
        text = data.decode(encoding, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n"), problem


def open_bytes(path: Path) -> BinaryIO:
    """The file's bytes, unpacked where its name ends in `.gz`."""
    _regular(path)
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def byte_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(line number, line with its end), 1-based, streamed. Raises SourceError where the file cannot be read."""
    number = 0
    try:
        with open_bytes(path) as lines:
            for number, line in enumerate(lines, 1):
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"cannot be read: {error}", where=f"{path}:{number + 1}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def parse_json(data: bytes | str, where: str) -> Any:
    """A JSON value. Raises SourceError that names the place, also for NaN, for bytes that are not UTF-8 and for
    nesting too deep to read."""
    try:
        return json.loads(
            data.decode("utf-8-sig") if isinstance(data, bytes) else data,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not JSON: {error}", where=where, do="Mend or remove it") from None


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line that is not blank, 1-based, streamed.

    Raises SourceError with `file:line` for a line that is not a JSON object.
    """
    for number, line in byte_lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        row = parse_json(line, where)
        if not isinstance(row, dict):
            raise SourceError(f"a JSON {type(row).__name__} where an object belongs", where=where)
        yield number, row


def text_lines(path: Path) -> Iterator[str]:
    """Lines with their ends, streamed. Raises SourceError with `file:line` for bytes that are not UTF-8."""
    for number, line in byte_lines(path):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(
                f"not UTF-8: byte 0x{line[error.start]:02x}",
                where=f"{path}:{number}",
                do="Convert the file to UTF-8",
            ) from None


def cell_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the row's first line, cells) of every row that is not blank, streamed.

    In a tab-separated file a quotation mark is text; in any other it quotes. Raises SourceError.
    """
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader(
        text_lines(path), delimiter=delimiter, quoting=quoting, strict=quoting != csv.QUOTE_NONE
    )
    first = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise SourceError(
                f"not a table: {error}", where=f"{path}:{first}", do="Mend the row"
            ) from None
        if any(cell.strip() for cell in cells):
            yield first, cells
        first = reader.line_num + 1


def named_rows(
    path: Path, delimiter: str, names: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, column to cell) below a header line; with `names` the columns are those, and no line is a header.
    Raises SourceError for a column named twice and for a row with more or fewer cells than there are columns."""
    rows = cell_rows(path, delimiter)
    header = list(names)
    try:
        header = header or [name.strip() for name in next(rows)[1]]
    except StopIteration:
        raise SourceError("the table is empty", where=str(path)) from None
    if len(set(header)) < len(header):
        twice = sorted({name for name in header if header.count(name) > 1})
        raise SourceError(f"columns named twice: {', '.join(twice)}", where=f"{path}:1")
    for number, cells in rows:
        if len(cells) != len(header):
            raise SourceError(
                f"{len(cells)} cells where {'there are' if names else 'the header has'} {len(header)}",
                where=f"{path}:{number}",
                do="Quote cells that hold the delimiter or a line end",
            )
        yield number, dict(zip(header, cells, strict=True))


def suffix_of(path: Path) -> str:
    """The lower-case suffix that tells the format, `.gz` apart."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def missing_columns(
    missing: Sequence[str], found: Sequence[str], where: str, do: str
) -> SourceError:
    """The error that lists the columns missed and those found."""
    return SourceError(
        f"missing columns: {', '.join(missing)}; found: {', '.join(found) or 'none'}",
        where=where,
        do=do,
    )


def printable_path(path: str) -> str:
    """A path as text, one to one: bytes of a name that are not UTF-8 shown as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


# ---- A folder's files by relative path: hidden ones and links are left out unless asked for ----


@dataclass(slots=True)
class Walk:
    """Relative paths in code-point order with `/` between folders, and what was left out."""

    files: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)


def walk(
    root: Path,
    suffixes: Collection[str] | None,
    *,
    hidden: bool = False,
    follow_links: bool = False,
) -> Walk:
    """The files below `root` with one of the suffixes (lower case, with the dot), or with any.

    A linked file is read and a linked folder entered only with `follow_links`, and every real one once, so that a loop
    ends. A link that leads nowhere is `broken`; a pipe, socket or device is `special` and never opened. Hidden names start with a dot; a file named so counts where its suffix does.
    """
    found = Walk()
    visited = {os.path.realpath(root)}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            found.broken.append(folder)
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            named = suffixes is None or os.path.splitext(entry.name)[1].lower() in suffixes
            linked = entry.is_symlink()
            try:
                is_folder = entry.is_dir()
                is_file = entry.is_file()
            except OSError:  # a loop of links
                is_folder = is_file = False
            if entry.name.startswith(".") and not hidden and (is_folder or named):
                found.hidden.append(path)
            elif is_folder:
                real = os.path.realpath(entry.path)
                if (linked and not follow_links) or real in visited:
                    found.linked.append(path)
                else:
                    visited.add(real)
                    waiting.append(path)
            elif is_file and named:
                (found.linked if linked else found.files).append(path)
            elif named and linked and not os.path.exists(entry.path):
                found.broken.append(path)
            elif named:
                found.special.append(path)
    if follow_links and found.linked:
        known = {os.path.realpath(root / path) for path in found.files}
        for path in sorted(found.linked):
            real = os.path.realpath(root / path)
            if os.path.isfile(real) and real not in known:
                known.add(real)
                found.files.append(path)
                found.linked.remove(path)
    for paths in (found.files, found.hidden, found.linked, found.broken, found.special):
        paths.sort()
    return found


# ---- The rows of a table file, whatever its format: streamed, each with a number that an er ----

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
PARQUET_BATCH = 1_000


def format_of(path: Path) -> str | None:
    """The table format that a file's name tells."""
    return FORMATS.get(suffix_of(path))


def numbered(path: Path) -> bool:
    """Whether a TSV begins with a whole number and one more cell: no header does."""
    _, first = next(cell_rows(path, "\t"), (0, []))
    return len(first) == 2 and first[0].strip().isdecimal()


def table_rows(
    path: Path, table_format: str, names: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
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
            raise SourceError(
                f"the Parquet file is damaged: {error}", where=f"{path}:{number + 1}"
            ) from None
