"""Which modules of Python's standard library are read, and how: a chosen core, and what is written in C."""

from __future__ import annotations

# The default scope: much used modules, chosen so that all of them are about 3,000 chunks at 900 characters.
CORE = (
    "abc", "argparse", "ast", "asyncio", "base64", "bisect", "builtins", "collections", "concurrent",
    "contextlib", "copy", "csv", "dataclasses", "datetime", "difflib", "enum", "fnmatch", "fractions",
    "functools", "glob", "gzip", "hashlib", "heapq", "hmac", "html", "io", "itertools", "json", "logging",
    "math", "operator", "os", "pathlib", "pickle", "pprint", "queue", "random", "re", "secrets", "shutil",
    "sqlite3", "statistics", "string", "struct", "subprocess", "sys", "tempfile", "textwrap", "threading", "time",
    "types", "typing", "urllib", "uuid", "warnings", "weakref", "zipfile", "zlib",
)  # fmt: skip
# What the core leaves out of them: asyncio's inner modules, and topics that repeat what others say.
CORE_WITHOUT = {
    "asyncio.base_events", "asyncio.base_futures", "asyncio.base_subprocess", "asyncio.base_tasks",
    "asyncio.constants", "asyncio.format_helpers", "asyncio.log", "asyncio.mixins", "asyncio.proactor_events",
    "asyncio.selector_events", "asyncio.sslproto", "asyncio.staggered", "asyncio.trsock", "asyncio.unix_events",
    "asyncio.windows_events", "asyncio.windows_utils",
    "topic.compound", "topic.debugger", "topic.specialnames", "topic.string-methods", "topic.types",
    "topic.typesmapping", "topic.typesseq",
}  # fmt: skip

# Modules whose source stands under another name: a Python twin of a C module, or the POSIX half of `os`.
TWINS = {"datetime": "_pydatetime", "decimal": "_pydecimal", "io": "_pyio"}
EXTRA_SOURCES = {"os": (("os.path", "posixpath.py"),)}

# C modules that do nothing when imported, by the public name under which their contents are known.
IMPORTED = {
    "_collections": "collections", "_contextvars": "contextvars", "_csv": "csv", "_signal": "signal",
    "_socket": "socket", "_sqlite3": "sqlite3", "_struct": "struct", "_weakref": "weakref", "array": "array",
    "atexit": "atexit", "binascii": "binascii", "builtins": "builtins", "cmath": "cmath", "errno": "errno",
    "gc": "gc", "itertools": "itertools", "marshal": "marshal", "math": "math", "posix": "os", "nt": "os",
    "select": "select", "sys": "sys", "time": "time", "unicodedata": "unicodedata", "zlib": "zlib",
}  # fmt: skip

# Folders of tests that some versions keep within a package.
TEST_FOLDERS = {"test", "tests", "idle_test", "__pycache__"}
