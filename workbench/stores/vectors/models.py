"""Which model makes the vectors: found by name or path, told apart by the hash of its file.

The law: the packaged copy of bge-small-en-v1.5 is the default, so that a vector is the same on every machine;
nothing is fetched unless asked for; the hash of the ONNX file is recorded with all that it made.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from workbench.errors import BadParameter, NotAvailable, WorkbenchError
from workbench.stores.vectors.e5 import E5_NAME, locate_e5
from workbench.stores.vectors.model_files import (
    PACKAGED_EMBEDDER,
    PROMPTS_NAME,
    ModelFiles,
    locate_builtin,
    locate_packaged,
    locate_path,
    sha256_of,
)
from workbench.types import content_hash

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_registering = Lock()


class UnknownModel(BadParameter):
    """Neither the packaged model, nor a fastembed model, nor a directory."""


class ModelDiffers(WorkbenchError):
    """The model file here is not the one that made a collection's vectors."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as a collection records it: enough to find it again, and to refuse another in its place.

    `sha256` is of the ONNX file; `key` covers the tokenizer's files, the pooling and the model's own prefixes too, and
    two models share a vector space only where it is equal. `max_tokens` counts the two special tokens; text beyond it
    is cut. `query_prefix` is put before a query, `passage_prefix` before any other text. `fetch`: the hub may be asked.
    """

    name: str
    dim: int
    max_tokens: int
    sha256: str
    key: str
    query_prefix: str = ""
    passage_prefix: str = ""
    fetch: bool = False

    @property
    def recorded(self) -> dict[str, Any]:
        """What the manifest keeps; a passage prefix where there is one."""
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "fetch"}
        return (
            kept
            if self.passage_prefix
            else {n: v for n, v in kept.items() if n != "passage_prefix"}
        )


NO_VECTORS = Model("none", dim=1, max_tokens=0, sha256="none", key="none")
"""What a collection without vectors records: every chunk has the vector (1), and no query is ever embedded."""


def find_model(name: str = "", *, fetch: bool = False, query_prefix: str = "") -> Model:
    """The model of that name: "" is the packaged English copy, `multilingual-e5-small-q4` the packaged one of a hundred
    languages, else a directory, else a fastembed model's name.

    A directory holds one ONNX file, tokenizer.json and tokenizer_config.json; its pooling is read from
    1_Pooling/config.json and is CLS without one, its prefixes from config_sentence_transformers.json. A `query_prefix`
    that is given replaces the model's own. Raises UnknownModel, or NotAvailable where it is known but not on this
    machine and `fetch` is False, or cannot be fetched.
    """
    files = _locate(name, fetch)
    return Model(
        name=files.name,
        dim=_dim(files),
        max_tokens=files.max_tokens,
        sha256=sha256_of(files.onnx),
        key=_key(files),
        query_prefix=query_prefix or files.query_prefix,
        passage_prefix=files.passage_prefix,
        fetch=fetch,
    )


def open_model(model: Model) -> TextEmbedding:
    """The fastembed model, opened once a process, one thread, on the CPU, so that machines agree.

    Raises ModelDiffers where the file here is not the one recorded.
    """
    files = _locate(model.name, model.fetch)
    if _key(files) != model.key:
        raise ModelDiffers(
            f"the model {model.name!r} here is not the one that made these vectors: "
            f"{sha256_of(files.onnx)[:12]}, not {model.sha256[:12]}, or another tokenizer",
            where=str(files.directory),
            do="Put the old file back, or load the collection again",
        )
    return _session(files, model.key)


def _locate(name: str, fetch: bool) -> ModelFiles:
    if name in ("", PACKAGED_EMBEDDER.name):
        return locate_packaged(PACKAGED_EMBEDDER)
    if name == E5_NAME:
        return locate_e5()
    found = locate_path(name) or locate_builtin(name, fetch)
    if found is None:
        raise UnknownModel(
            f"unknown model {name!r}",
            do=f"Name {E5_NAME}, a directory, or one of fastembed's models (TextEmbedding.list_supported_models())",
        )
    return found


def _key(files: ModelFiles) -> str:
    beside = ("tokenizer.json", "tokenizer_config.json", PROMPTS_NAME)
    parts = [files.onnx, *(files.directory / name for name in beside)]
    return content_hash([sha256_of(p) for p in parts if p.exists()], files.pooling)


def _dim(files: ModelFiles) -> int:
    if files.dim is not None:
        return files.dim
    return len(next(iter(_session(files, _key(files)).embed(["dimension"], batch_size=1))))


@lru_cache
def _session(files: ModelFiles, key: str) -> TextEmbedding:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    options = {"threads": 1, "providers": ["CPUExecutionProvider"], "local_files_only": True}
    name = files.name
    if files.pooling != "fastembed":
        # fastembed refuses a second registration of a name, and keeps them for the life of the process.
        name = f"workbench/{key}"
        with _registering:
            if not any(m["model"] == name for m in TextEmbedding.list_supported_models()):
                TextEmbedding.add_custom_model(
                    model=name,
                    dim=files.dim or 1,
                    pooling=PoolingType(files.pooling),
                    normalization=True,
                    model_file=str(files.onnx.relative_to(files.directory)),
                    sources=ModelSource(hf=name),
                )
    try:
        return TextEmbedding(name, specific_model_path=str(files.directory), **options)
    except Exception as error:  # onnxruntime and tokenizers raise their own kinds
        raise NotAvailable(
            f"the model {files.name!r} cannot be opened: {error}", where=str(files.onnx)
        ) from error
