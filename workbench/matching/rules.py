"""Rule sets as data: named patterns with examples that they must and must not match, read from TOML.

[[rule]]
name = "email"              # shown wherever the rule has worked
pattern = '...'             # Python's re; a group named `value` limits what is replaced; {start}: see START
needs = ["@"]               # the pattern is tried only where one of these stands in the text; [] always
replace = "<email-{tag}>"   # {n}: number of the distinct value in this request; {tag}: 16-bit keyed digest
matches = ["ann@example.org"]
spares = ["@decorator"]
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.matching.request import Answer, Message, Part, RecordedRequest, Tool, json_text
from workbench.settings import project_root
from workbench.types import content_hash

# ---- Rule sets as data: named patterns with examples that they must and must not match, rea ----

FIELDS = ("name", "pattern", "replace", "needs", "matches", "spares", "why")
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""`{start}` in a pattern: no ASCII letter or digit before, or the end of an escape. `\\b` does not see a key behind `_`
or behind a letter of another alphabet."""
TAG_BYTES = 2
"""16 bits tell two addresses in a project apart and are too few to tell who it was."""


class BadRule(WorkbenchError):
    """A rule that does not compile, lacks a field, or breaks one of its own examples."""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    pattern: re.Pattern[str]
    replace: str
    needs: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    why: str = ""

    def applies(self, text: str) -> bool:
        return not self.needs or _holds(text, self.needs)


@dataclass(slots=True)
class Seen:
    """The values that one request has shown so far, by rule, and how often each rule worked.

    Equal values share a number, so that `copy A to B` and `copy A to A` stay different after scrubbing.
    """

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    distinct: Counter[str] = field(default_factory=Counter)
    worked: Counter[str] = field(default_factory=Counter)

    def number(self, rule: str, value: str) -> int:
        if (rule, value) not in self.numbers:
            self.distinct[rule] += 1
            self.numbers[rule, value] = self.distinct[rule]
        return self.numbers[rule, value]


@dataclass(frozen=True)
class RuleSet:
    """Rules in order; each is applied to what the one before left. `key` seeds the tags."""

    rules: tuple[Rule, ...]
    key: bytes = b""

    def __post_init__(self) -> None:
        always = any(not r.needs for r in self.rules)
        needles = tuple(sorted({n for r in self.rules for n in r.needs}))
        object.__setattr__(self, "_needles", None if always else needles)

    @property
    def hash(self) -> str:
        return content_hash([[r.name, r.pattern.pattern, r.replace, r.needs] for r in self.rules])

    def touches(self, text: str) -> bool:
        """False where no rule can match: the cheap test before the real one."""
        return self._needles is None or _holds(text, self._needles)

    def apply(self, text: str, seen: Seen | None = None) -> str:
        """The text with every match replaced. `seen` carries numbers across the texts of one request."""
        seen = Seen() if seen is None else seen
        for rule in self.rules:
            if rule.applies(text):
                text = rule.pattern.sub(lambda found, rule=rule: self._put(rule, found, seen), text)
        return text

    def _put(self, rule: Rule, found: re.Match[str], seen: Seen) -> str:
        named = "value" in rule.pattern.groupindex and found["value"] is not None
        value = found["value"] if named else found[0]
        seen.worked[rule.name] += 1
        new = rule.replace
        if "{n}" in new:
            new = new.replace("{n}", str(seen.number(rule.name, value)))
        if "{tag}" in new:
            new = new.replace("{tag}", self._tag(value))
        if not named:
            return new
        start, end = found.start("value") - found.start(), found.end("value") - found.start()
        return found[0][:start] + new + found[0][end:]

    def _tag(self, value: str) -> str:
        data = value.casefold().encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self.key, digest_size=TAG_BYTES).hexdigest()

    def extended(self, more: Sequence[Rule]) -> RuleSet:
        """A new set with more rules at the end; one with a known name takes that one's place."""
        by_name = {r.name: r for r in self.rules} | {r.name: r for r in more}
        return RuleSet(tuple(by_name.values()), self.key)

    def keyed(self, key: bytes) -> RuleSet:
        return RuleSet(self.rules, key)


def _holds(text: str, needles: Sequence[str]) -> bool:
    # A loop: any() over a generator takes twice as long, and this runs for every text of every call.
    for needle in needles:  # noqa: SIM110
        if needle in text:
            return True
    return False


def rule_from(data: Mapping[str, Any], where: str) -> Rule:
    """A rule from its table. Raises BadRule for an unknown or missing field, a bad pattern, a broken example."""
    name = str(data.get("name", "?"))
    where = f"{where}, rule {name!r}"
    for key in data:
        if key not in FIELDS:
            raise BadRule(f"unknown field {key!r}", where=where, do=f"Known: {', '.join(FIELDS)}")
    for key in FIELDS[:3]:
        if not isinstance(data.get(key), str) or not data[key]:
            raise BadRule(f"the field {key!r} is missing or not a text", where=where)
    try:
        pattern = re.compile(data["pattern"].replace("{start}", START))
    except re.error as error:
        raise BadRule(f"the pattern does not compile: {error}", where=where) from error
    rule = Rule(
        name,
        pattern,
        data["replace"],
        *(tuple(data.get(k, ())) for k in FIELDS[3:6]),
        data.get("why", ""),
    )
    _check_examples(rule, where)
    return rule


def _check_examples(rule: Rule, where: str) -> None:
    alone = RuleSet((rule,))
    for text in rule.matches:
        if alone.apply(text) == text:
            raise BadRule(f"it must change {text!r} and does not", where=where)
    for text in rule.spares:
        if alone.apply(text) != text:
            raise BadRule(
                f"it must spare {text!r} and makes {alone.apply(text)!r} of it", where=where
            )


def read_rules(path: Path) -> tuple[tuple[Rule, ...], dict[str, Any]]:
    """The rules of a TOML file in order, and its other top-level entries."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRule(f"the rules cannot be read: {error}", where=str(path)) from error
    rules = tuple(rule_from(r, str(path)) for r in data.pop("rule", []))
    doubled = [n for n, c in Counter(r.name for r in rules).items() if c > 1]
    if doubled:
        raise BadRule(f"two rules are named {doubled[0]!r}", where=str(path))
    return rules, data


# ---- Redaction: secrets and personal addresses leave before anything is stored, hashed, com ----

FILE = ("data", "matching", "redaction.toml")
BARE_LENGTH = 6
"""Characters that a value without quotes has at least; one behind `: ` or ` is ` has a digit or a mark too."""

_NAMED = re.compile(
    r"""(?<![\w.-])(?P<name>(?:[\w.-]++[ ])?[\w.-]++)(?P<quote>\\*+["'`]|&quot;|%22)?
    (?:\s*+(?P<mark>:|=>?|%3[AD])\s*+|\s++is\s++)(?P<open>\\*+["'`\[{]|&quot;|%22)?""",
    re.IGNORECASE | re.VERBOSE,
)
_BARE = re.compile(r"""(?:&(?![\w.%-]++=)|%(?!26)|[^\s"'`\\,;)}\]<>&%])++""")
_TELLING = re.compile(r"[\d_!@#$%^&*+/=]")
_NUMBER = re.compile(r"-?\d[\d.eE+-]*+")
_TOKEN = re.compile(r"""(?<!\\)(?P<slashes>\\*+)(?P<quote>["'`])|[\[{\]}]""")
_ENTITIES = ("&quot;", "%22")

SCHEMA_KEYS = frozenset(
    "type title description default enum const examples example format pattern minLength maxLength minimum maximum "
    "nullable items properties required additionalProperties anyOf oneOf allOf $ref writeOnly readOnly".split()
)
SCHEMA_VALUES = frozenset({"default", "enum", "const", "examples", "example"})
PLACES = frozenset(
    {"index", "output_index", "content_index", "contentBlockIndex", "item_id", "type"}
)
"""What tells two texts of a stream apart beside the keys that lead to them."""
SPELT = frozenset({"logprobs", "logprobsResult"})
"""Keys below which an answer's text is spelt out once more, token by token."""


@dataclass(frozen=True)
class SecretNames:
    """Names whose value is a secret: letters and digits without case, digits at the end left off."""

    endings: tuple[str, ...]
    whole: frozenset[str]
    spared: tuple[str, ...]

    @lru_cache(maxsize=4096)  # noqa: B019 - one object for each set of rules, and they live as long as the process
    def match(self, name: str) -> bool:
        plain = "".join(filter(str.isalnum, name)).casefold().rstrip("0123456789")
        return (plain.endswith(self.endings) or plain in self.whole) and not plain.endswith(
            self.spared
        )

    @property
    def stems(self) -> tuple[str, ...]:
        """Texts one of which is in every secret name, in lower case."""
        return (
            "key",
            "secret",
            "pass",
            "pwd",
            "token",
            "contrase",
            "auth",
            "cookie",
            "cred",
            "string",
            "sig",
            "pw",
            "jwt",
            "bearer",
        )


@dataclass(frozen=True)
class Redaction:
    """The patterns, and the names whose value is redacted whole."""

    rules: RuleSet
    names: SecretNames
    key_replace: str = "<secret>"

    @property
    def hash(self) -> str:
        n = self.names
        return content_hash(self.rules.hash, n.endings, sorted(n.whole), n.spared, self.key_replace)

    def text(self, text: str, seen: Seen | None = None) -> str:
        """The text without secrets: JSON is redacted by its values, and any text by names and patterns."""
        if not text or not self.touches(text):
            return text
        if text.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(text)
                if (clean := self.value(value, seen)) != value:
                    text = json_text(clean, ordered=False)
            except (ValueError, RecursionError):
                pass
        return self.rules.apply(self._named(text, seen), seen)

    def value(self, value: Any, seen: Seen | None = None) -> Any:
        """A plain JSON value with every text in it redacted, keys too."""
        if isinstance(value, str):
            return self.text(value, seen)
        if isinstance(value, list | tuple):
            return [self.value(v, seen) for v in value]
        if isinstance(value, Mapping):
            named = _named_by(value)
            found = {}
            for key, held in value.items():
                secret = self.names.match(named if key in ("value", "Value") and named else key)
                put = (
                    self._secret(held, seen)
                    if secret and "logprob" not in value
                    else self.value(held, seen)
                )
                found[_free(found, self.text(key, seen))] = put
            return found
        return value

    def _secret(self, value: Any, seen: Seen | None) -> Any:
        """What stays of a value under a secret name: null, true, false, "", and the form of a JSON schema."""
        if value is None or isinstance(value, bool) or value in ("", self.key_replace):
            return value
        if isinstance(value, Mapping) and value and value.keys() <= SCHEMA_KEYS and "type" in value:
            return {
                k: self._secret(v, seen)
                if k in SCHEMA_VALUES or _odd_type(k, v)
                else self.value(v, seen)
                for k, v in value.items()
            }
        if seen is not None:
            seen.worked["secret key name"] += 1
        return self.key_replace

    def _named(self, text: str, seen: Seen | None) -> str:
        """The text with the values behind secret names replaced, JSON at any level of escaping among them."""
        lower = text.lower()
        if not any(stem in lower for stem in self.names.stems):
            return text
        out, done, at = [], 0, 0
        while (found := _NAMED.search(text, at)) is not None:
            at = found.end() - len(found["open"] or "")
            if not self.names.match(found["name"].rpartition(" ")[2]) and not self.names.match(
                found["name"]
            ):
                continue
            start, end, quote = _value_at(text, found)
            if end > start and text[start:end] != self.key_replace:
                if seen is not None:
                    seen.worked["secret key name"] += 1
                out += [text[done:start], quote, self.key_replace, quote]
                done = at = end
        return "".join([*out, text[done:]])

    def touches(self, text: str) -> bool:
        """False where nothing can be redacted: the cheap test before the walk."""
        if self.rules.touches(text):
            return True
        lower = text.lower()
        return any(stem in lower for stem in self.names.stems)

    def request(self, request: RecordedRequest, seen: Seen | None = None) -> RecordedRequest:
        """The request with all its texts redacted; the same object where there is nothing to redact."""
        if not self.touches(request.as_json()):
            return request
        seen, ids = Seen() if seen is None else seen, {}
        return RecordedRequest(
            tuple(Message(m.role, self._parts(m.parts, seen, ids)) for m in request.messages),
            self.text(request.system, seen),
            tuple(
                Tool(
                    self.text(t.name, seen),
                    self.text(t.description, seen),
                    self.text(t.schema, seen),
                )
                for t in request.tools
            ),
            self.value(dict(request.params), seen),
        )

    def _parts(self, parts: Sequence[Part], seen: Seen, ids: dict[str, str]) -> tuple[Part, ...]:
        clean = [
            Part(
                p.kind, self.text(p.text, seen), self.text(p.name, seen), self._id(p.id, seen, ids)
            )
            for p in parts
        ]
        if len(parts) > 1:
            texts = self._joined([p.text for p in clean], seen)
            clean = [replace(p, text=t) for p, t in zip(clean, texts, strict=True)]
        return tuple(clean)

    def _id(self, value: str, seen: Seen, ids: dict[str, str]) -> str:
        """An id without secrets; two ids stay two, since they tie results to calls."""
        if value and value not in ids:
            clean = self.text(value, seen)
            ids[value] = clean if clean == value else f"{clean}-{len(ids) + 1}"
        return ids.get(value, "")

    def answer(self, answer: Answer, seen: Seen | None = None) -> Answer:
        """The answer with its texts, calls and wire form redacted; a stream as its joined texts."""
        return replace(
            answer,
            text=self.text(answer.text, seen),
            finish=self.text(answer.finish, seen),
            body=self._wire(answer.body, seen),
            events=self._wire(answer.events, seen),
            calls=tuple((self.text(n, seen), self.text(a, seen)) for n, a in answer.calls),
        )

    def _wire(self, text: str, seen: Seen | None) -> str:
        """A body or events as JSON text: each text redacted, and then what the texts of one place spell together."""
        try:
            held = json.loads(text) if text else None
        except (ValueError, RecursionError):
            return self.text(text, seen)
        value = self.value(held, seen)
        for level in range(3):
            places: dict[Any, list[tuple[Any, Any]]] = defaultdict(list)
            for path, ids, container, key in _texts(value, (), ()):
                places[((path, ids), path, path[-1:])[level]].append((container, key))
            for found in places.values():
                pieces = [c[k] for c, k in found]
                for (container, key), piece in zip(found, self._joined(pieces, seen), strict=True):
                    container[key] = piece
        if value == held:
            return text
        _drop(value, SPELT)
        return json_text(value, ordered=False)

    def _joined(self, pieces: Sequence[str], seen: Seen | None) -> list[str]:
        """Pieces whose concatenation has no secret; what is replaced goes where the change begins."""
        if len(pieces) < 2 or len(set(pieces)) == 1:
            return list(pieces)
        joined = "".join(pieces)
        clean = self.text(joined, seen)
        return list(pieces) if clean == joined else _spread(pieces, joined, clean)


def _spread(pieces: Sequence[str], old: str, new: str) -> list[str]:
    """`new` cut into as many pieces as `old` was, those before and behind the change as they were."""
    head = len(os.path.commonprefix([old, new]))
    tail = len(os.path.commonprefix([old[head:][::-1], new[head:][::-1]]))
    out, at, put = [], 0, new[head : len(new) - tail]
    for number, piece in enumerate(pieces, 1):
        end = at + len(piece)
        kept = piece[: max(0, head - at)]
        if end > head or number == len(pieces):
            kept, put = kept + put, ""
        out.append(kept + (piece[max(0, len(old) - tail - at) :] if end > len(old) - tail else ""))
        at = end
    return out


def _texts(value: Any, path: tuple, ids: tuple) -> Iterator[tuple[tuple, tuple, Any, Any]]:
    """(keys that lead there, what tells apart, container, key) of every text below a value."""
    if isinstance(value, dict):
        ids += tuple(
            f"{k}:{value[k]}"
            for k in sorted(PLACES & value.keys())
            if isinstance(value[k], str | int)
        )
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, held in pairs:
        inner = (*path, key) if isinstance(value, dict) else path
        if isinstance(held, str):
            yield inner, ids, value, key
        else:
            yield from _texts(held, inner, ids)


def _drop(value: Any, keys: frozenset[str]) -> None:
    for key, held in list(value.items()) if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and key in keys:
            value[key] = None
        elif isinstance(held, dict | list):
            _drop(held, keys)


def _named_by(value: Mapping[str, Any]) -> str:
    """What a pair like {"name": "Authorization", "value": …} is about; "" for any other mapping."""
    return next(
        (v for k in ("name", "key", "Name", "Key", "header") if isinstance(v := value.get(k), str)),
        "",
    )


def _odd_type(key: str, value: Any) -> bool:
    return key == "type" and value not in (
        "string",
        "number",
        "integer",
        "object",
        "array",
        "boolean",
        "null",
    )


def _free(taken: Mapping[str, Any], key: str) -> str:
    """The key, with a number behind it where redaction made two keys equal."""
    return (
        key
        if key not in taken
        else next(k for n in range(2, len(taken) + 3) if (k := f"{key}-{n}") not in taken)
    )


def _value_at(text: str, found: re.Match[str]) -> tuple[int, int, str]:
    """(start, end, quote to put around) of the value behind a name; an empty span where it is no secret."""
    at, opened, mark = found.end(), found["open"] or "", found["mark"]
    if opened in _ENTITIES:
        end = text.find(opened, at)
        return at, len(text) if end < 0 else end, ""
    if opened and opened[-1] not in "[{":
        size = len(opened)
        end = _value_end(text, at - size, size - 1)
        closed = end - size if end > at and text[end - size : end] == opened else end
        return at, max(at, closed), ""
    quote = found["quote"] or ""
    if opened:
        return at - len(opened), _value_end(text, at - len(opened), len(quote[:-1])), quote or '"'
    if quote and (number := _NUMBER.match(text, at)):
        return at, number.end(), quote
    bare = _BARE.match(text, at)
    if bare is None or len(bare[0]) < (4 if found[0].endswith("=") else BARE_LENGTH):
        return at, at, ""
    telling = mark and found[0].endswith(("=", "%3D", "%3d")) or _TELLING.search(bare[0])
    return (at, bare.end(), "") if telling else (at, at, "")


def _value_end(text: str, at: int, slashes: int) -> int:
    """Where the JSON value that begins at `at` ends, its quotes escaped by `slashes`; the text's end where it is cut.

    A level of escaping doubles the backslashes before a quote and adds one, so that an escaped quote or backslash
    inside a text always has another number of them than the text's own end.
    """
    depth, inside = 0, ""
    for found in _TOKEN.finditer(text, at):
        if mark := found["quote"]:
            extra = len(found["slashes"]) - slashes
            if not inside:
                inside = mark
            elif mark == inside and extra >= 0 and extra % (2 * slashes + 2) == 0:
                inside = ""
        elif not inside:
            depth += 1 if found[0] in "[{" else -1
        if depth <= 0 and not inside:
            return found.end()
    return len(text)


@cache
def _shipped() -> Redaction:
    rules, other = read_rules(project_root().joinpath(*FILE))
    n = other["names"]
    names = SecretNames(tuple(n["endings"]), frozenset(n["whole"]), tuple(n["spared"]))
    return Redaction(RuleSet(rules), names, other["key_replace"])


def redaction(key: bytes = b"", more: Sequence[Rule] = ()) -> Redaction:
    """The shipped rules and then a project's; `key` seeds the tags of personal addresses."""
    shipped = _shipped()
    return replace(shipped, rules=shipped.rules.extended(more).keyed(key))


class CleanError(WorkbenchError):
    """An error about something recorded: its words pass the rules like what is stored."""

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        clean = redaction().text
        super().__init__(clean(what), where=clean(where), do=do)


# ---- Scrubbing: what changes from run to run and means nothing is made equal, for comparing ----

SCRUBBING_FILE = ("data", "matching", "scrubbing.toml")


@cache
def _shipped_scrubbing() -> RuleSet:
    return RuleSet(read_rules(project_root().joinpath(*SCRUBBING_FILE))[0])


def scrubbing(more: Sequence[Rule] = (), without: Sequence[str] = ()) -> RuleSet:
    """The shipped rules but those named, with a project's own at the end."""
    kept = RuleSet(tuple(r for r in _shipped_scrubbing().rules if r.name not in without))
    return kept.extended(more)


def normal_text(rules: RuleSet, text: str, seen: Seen) -> str:
    """Scrubbed, and every run of white space one blank."""
    return " ".join(rules.apply(text, seen).split())
