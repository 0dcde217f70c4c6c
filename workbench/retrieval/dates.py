"""The time that a query names, as one interval; none where it names none, or can be read in two ways.

The law: every date of the text is found, the longest first. One interval, however often it is named, is the answer;
`from A to B` and `between A and B` is the span of both. Two different intervals, a negated one, a day that no month
has, `03/04/2024` and an hour without a day are ambiguous or no date: no interval. A day or month without a year is
the latest that is not after now; weeks begin on Monday. Times are in the zone of `now`.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import regex

from workbench.text import fold

# ---- The words of dates in nine languages, folded as `text.fold` folds: months, days, units ----


def _numbered(*rows: str) -> dict[str, int]:
    """Each word of the n-th row to n, from 1."""
    return {fold(word): number for number, row in enumerate(rows, 1) for word in row.split()}


def _named(**rows: str) -> dict[str, str]:
    """Each word (`_` for a blank) to its row's name."""
    return {
        fold(word).replace("_", " "): name for name, row in rows.items() for word in row.split()
    }


MONTHS = _numbered(
    "january jan ianuarie enero janvier gennaio januar janeiro января январь январе",
    "february feb februarie febrero février febbraio februar fevereiro февраля февраль феврале",
    "march mar martie marzo mars märz março марта март марте",
    "april apr aprilie abril avril aprile апреля апрель апреле",
    "may mai mayo maggio maio мая май мае",
    "june jun iunie junio juin giugno juni junho июня июнь июне",
    "july jul iulie julio juillet luglio juli julho июля июль июле",
    "august aug agosto août августа август августе",
    "september sep sept septembrie septiembre septembre settembre setembro сентября сентябрь сентябре",
    "october oct octombrie octubre octobre ottobre oktober outubro октября октябрь октябре",
    "november nov noiembrie noviembre novembre novembro ноября ноябрь ноябре",
    "december dec decembrie diciembre décembre dicembre dezember dezembro декабря декабрь декабре",
)

DAYS = {
    0: "today hoy aujourd'hui oggi heute hoje сегодня azi astăzi",
    -1: "yesterday ayer hier ieri gestern ontem вчера",
    -2: "day_before_yesterday anteayer avant-hier l'altro_ieri vorgestern anteontem позавчера alaltăieri",
    1: "tomorrow demain domani amanhã завтра",
    2: "day_after_tomorrow après-demain dopodomani übermorgen послезавтра poimâine",
}
"""Days from today. Words that mean something else as often are left out: `mañana` and `morgen` (morning), `mâine`, which
folds to the name of a state."""

UNITS = _named(
    day="day days día días jour jours giorno giorni tag tage tagen dia dias день дня дней zi zile",
    week="week weeks semana semanas semaine semaines settimana settimane woche wochen"
    " неделя недели неделе неделю недель săptămână săptămâna săptămâni",
    weekend="weekend weekends week-end fin_de_semana fine_settimana wochenende fim_de_semana выходные выходных weekendul",
    month="month months mon mes meses mois mese mesi monat monate monaten mês месяц месяца месяце месяцев lună luna luni",
    year="year years año años an ans année années anno anni jahr jahre jahren ano anos год года году лет ani anul",
)

BEFORE_UNIT = _named(
    last="last previous letzte letzten letztes letzter letzten vorige voriges vorigen lo_scorso la_scorsa"
    " прошлая прошлой прошлый прошлом прошлую прошлые прошлых",
    this="this current este esta cette questo questa diese dieses diesen dieser aktuelle acest"
    " эта этой этот этом эту эти этих această",
    next="next nächste nächsten nächstes nächster il_prossimo la_prossima próximo próxima"
    " следующая следующей следующий следующем следующую",
)
AFTER_UNIT = _named(
    last="pasado pasada dernier dernière passé passée scorso scorsa passado passada trecut trecută",
    this="aceasta acesta",
    next="prochain prochaine viitor viitoare próximo próxima que_viene",
)

AGO = (
    "{n} {unit} ago",
    "hace {n} {unit}",
    "il y a {n} {unit}",
    "{n} {unit} fa",
    "vor {n} {unit}",
    "ha {n} {unit}",
    "{n} {unit} назад",
    "acum {n} {unit}",
)
AHEAD = ("{n} {unit} from now", "через {n} {unit}")
"""`in six months` is a duration as often (`peste`, `dans` and `fra` too): it is a date only as the whole query."""

NUMBERS = _numbered(
    "one a an un una une uno ein eine einem einer um uma один одну o",
    "two dos deux due zwei dois duas два две doi două",
    "three tres trois tre drei três три trei",
    "four cuatro quatre quattro vier quatro четыре patru",
    "five cinco cinq cinque fünf пять cinci",
    "six seis sei sechs шесть șase",
    "seven siete sept sette sieben sete семь șapte",
    "eight ocho huit otto acht oito восемь opt",
    "nine nueve neuf nove neun девять nouă",
    "ten diez dix dieci zehn dez десять zece",
)

COUPLE = _named(couple="couple_of couple a_couple_of a_couple пару пары", few="few a_few несколько")

WEEKDAYS = _numbered("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

VAGUE_SPANS = {
    ("couple", "day"): (3, 1),
    ("few", "day"): (5, 2),
    ("couple", "week"): (21, 7),
    ("few", "week"): (35, 14),
    ("couple", "month"): (90, 30),
    ("few", "month"): (150, 60),
}
"""How many days ago such a time began and ended: the reading of the public set `date-queries`."""


# ---- The patterns of dates: each a regular expression over folded text, and the days that a ----

Days = tuple[date, date] | None
Rule = tuple[Any, Callable[[Any, date], Days]]

RULES: list[Rule] = []

_CHINESE = "一二三四五六七八九十"
_HAN_NUMBER = rf"(?<![{_CHINESE}两零百千万亿\d])(?:\d{{1,3}}|[{_CHINESE}两]{{1,3}})"


def _either(known: Iterable[str]) -> str:
    return "|".join(sorted(map(regex.escape, known), key=len, reverse=True))


_MONTH = rf"(?P<month>{_either(MONTHS)})\.?"
_UNIT = rf"(?P<unit>{_either(UNITS)})"
_N = rf"(?P<n>\d{{1,4}}|{_either(NUMBERS)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.|º|er)?"
_YEAR = r"(?P<year>\d{4})"
_OF = r"(?:\s+(?:de|of|del|d'))?"


def _rule(
    pattern: str, spaced: bool = True
) -> Callable[[Callable[[Any, date], Days]], Callable[[Any, date], Days]]:
    """Register a rule; a spaced one begins and ends where a word does, and is no part of `7-8` or `2001-02`."""
    whole = (
        rf"(?<![\p{{L}}\p{{N}}]|\d[-–/.:]){pattern}(?![\p{{L}}\p{{N}}]|[-–/:]\d)"
        if spaced
        else pattern
    )
    compiled = regex.compile(whole)

    def add(function: Callable[[Any, date], Days]) -> Callable[[Any, date], Days]:
        RULES.append((compiled, function))
        return function

    return add


# -- spans -------------------------------------------------------------------------------------------------------
def _one(day: date) -> Days:
    return day, day


def _month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _latest(today: date, month: int, day: int = 1) -> date:
    """The latest such day that is not after today; 29 February may lie years back."""
    for year in range(today.year, today.year - 9, -1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found <= today:
            return found
    raise ValueError("no such day")


def _unit(today: date, unit: str, step: int) -> Days:
    """The whole day, week, month or year so many steps from the one that holds today; of weekends the last one is the
    latest that has begun."""
    if unit == "day":
        return _one(today + timedelta(step))
    monday = today - timedelta(today.weekday())
    if unit == "week":
        return monday + timedelta(7 * step), monday + timedelta(7 * step + 6)
    if unit == "weekend":
        begun = step == -1 and today.weekday() >= 5
        saturday = monday + timedelta(5 + (0 if begun else 7 * step))
        return saturday, saturday + timedelta(1)
    if unit == "month":
        months = today.year * 12 + today.month - 1 + step
        return _month(months // 12, months % 12 + 1)
    return date(today.year + step, 1, 1), date(today.year + step, 12, 31)


def _moved(today: date, unit: str, steps: int) -> date:
    """The day so many units away; a day that a month lacks is its last one."""
    if unit in ("day", "week"):
        return today + timedelta(steps * (7 if unit == "week" else 1))
    months = today.year * 12 + today.month - 1 + steps * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(today.day, monthrange(year, month)[1]))


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    if text in NUMBERS:
        return NUMBERS[text]
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    if len(tens) > 1 or len(ones) > 1:
        raise ValueError(text)
    value = _CHINESE.index(ones) + 1 if ones else 0
    return value + (10 * (_CHINESE.index(tens) + 1 if tens else 1) if ten else 0)


# -- written dates -----------------------------------------------------------------------------------------------
@_rule(
    rf"{_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?:[t ]\d{{1,2}}:\d\d(?::\d\d(?:\.\d+)?)?z?)?"
)
def _iso(m: Any, today: date) -> Days:
    return _one(date(int(m["year"]), int(m["month"]), int(m["day"])))


@_rule(rf"(?P<a>\d{{1,2}})(?P<mark>[-/.])(?P<b>\d{{1,2}})(?P=mark){_YEAR}")
def _numeric(m: Any, today: date) -> Days:
    """With dots the day comes first; otherwise only a number above 12 tells which one the day is."""
    a, b, year = int(m["a"]), int(m["b"]), int(m["year"])
    if m["mark"] == "." or a > 12:
        return _one(date(year, b, a))
    if b > 12 or a == b:
        return _one(date(year, a, b))
    return None


@_rule(rf"{_DAY}{_OF}\s+{_MONTH}(?:{_OF},?\s+{_YEAR})?")
@_rule(rf"{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+{_YEAR})?")
def _day_of_month(m: Any, today: date) -> Days:
    month, day = MONTHS[m["month"]], int(m["day"])
    return _one(date(int(m["year"]), month, day) if m["year"] else _latest(today, month, day))


@_rule(
    rf"(?P<first>\d{{1,2}})(?:st|nd|rd|th|\.)?\s*(?:to|and|[-–]|bis|und|pana la|si|al|y|et|e)\s*"
    rf"{_DAY}{_OF}\s+{_MONTH}(?:{_OF},?\s+{_YEAR})?"
)
def _days_of_month(m: Any, today: date) -> Days:
    last = _day_of_month(m, today)
    first = last and last[0].replace(day=int(m["first"]))
    return (first, last[1]) if first and first < last[1] else None


@_rule(rf"{_MONTH}{_OF},?\s+{_YEAR}")
def _month_of_year(m: Any, today: date) -> Days:
    return _month(int(m["year"]), MONTHS[m["month"]])


@_rule(rf"(?:in|during|last|since|im|en|dans|nel|em|в|in luna)\s+(?!mar\b|mai\b){_MONTH}")
def _month_alone(m: Any, today: date) -> Days:
    """A month without a year and without such a word before it could be a verb or a name (`may`, `april`), and `mai`
    after one is Romanian for "more": no date."""
    found = _latest(today, MONTHS[m["month"]])
    return _month(found.year, found.month)


@_rule(rf"(?:in|during|en|nel|din|im|в)\s+{_YEAR}(?!\s+\p{{L}}{{4,}})")
@_rule(rf"(?:the year|year|jahr|annee|anno|ano|anul|году)\s+{_YEAR}")
def _year(m: Any, today: date) -> Days:
    """`in 2000 patients` counts patients: a longer word right after the number makes it no year."""
    return date(int(m["year"]), 1, 1), date(int(m["year"]), 12, 31)


@_rule(rf"q(?P<quarter>[1-4])(?:\s+|/|-){_YEAR}")
@_rule(r"第(?P<quarter>[一二三四1-4])季度(?P<year>)", spaced=False)
def _quarter(m: Any, today: date) -> Days:
    year, first = int(m["year"] or today.year), 3 * _number(m["quarter"]) - 2
    return date(year, first, 1), _month(year, first + 2)[1]  # type: ignore[index]


# -- from today --------------------------------------------------------------------------------------------------
_OFFSETS = {fold(w).replace("_", " "): step for step, row in DAYS.items() for w in row.split()}


@_rule(rf"(?P<day>{_either(_OFFSETS)})")
def _from_today(m: Any, today: date) -> Days:
    if m["day"] == "hier" and _GERMAN.search(m.string):  # "here" in German
        return None
    return _one(today + timedelta(_OFFSETS[m["day"]]))


_GERMAN = regex.compile(
    r"\b(?:ist|sind|war|der|die|das|den|und|ich|wir|was|wie|wo|wer|nicht|ein|eine)\b"
)
_STEPS = {"last": -1, "this": 0, "next": 1}


@_rule(rf"(?P<step>{_either(BEFORE_UNIT)})\s+{_UNIT}")
@_rule(rf"{_UNIT}\s+(?P<step>{_either(AFTER_UNIT)})")
def _stepped(m: Any, today: date) -> Days:
    step = BEFORE_UNIT.get(m["step"]) or AFTER_UNIT[m["step"]]
    return _unit(today, UNITS[m["unit"]], _STEPS[step])


@_rule(
    rf"(?:last|past|letzten|ultimos|ultimas|ultimele|derniers|dernieres|ultimi|ultime)\s+{_N}\s+{_UNIT}"
)
def _last_so_many(m: Any, today: date) -> Days:
    return _moved(today, UNITS[m["unit"]], -_number(m["n"])), today


def _patterns(forms: Iterable[str], n: str) -> str:
    def filled(form: str) -> str:
        return (
            regex.sub(r"\s+", r"\\s+", form)
            .replace("{n}", n)
            .replace("{unit}", _UNIT)
            .replace(rf"{n}\s+", rf"{n}\s*")
        )

    return "(?|" + "|".join(filled(f) for f in forms) + ")"


@_rule(_patterns(AGO, _N))
def _ago(m: Any, today: date) -> Days:
    return _one(_moved(today, UNITS[m["unit"]], -_number(m["n"])))


@_rule(_patterns(AHEAD, _N))
@_rule(rf"(?<=^\s*)in\s+{_N}\s+{_UNIT}(?=\s*$)")
def _ahead(m: Any, today: date) -> Days:
    return _one(_moved(today, UNITS[m["unit"]], _number(m["n"])))


@_rule(rf"(?P<some>{_either(COUPLE)})\s+{_UNIT}\s+(?:ago|назад)")
def _some_ago(m: Any, today: date) -> Days:
    return _vague(today, COUPLE[m["some"]], UNITS[m["unit"]])


def _vague(today: date, some: str, unit: str) -> Days:
    if (some, unit) not in VAGUE_SPANS:
        return None
    first, last = VAGUE_SPANS[some, unit]
    return today - timedelta(first), today - timedelta(last)


@_rule(rf"(?P<how>on|last|this past)\s+(?P<day>{_either(WEEKDAYS)})")
def _weekday(m: Any, today: date) -> Days:
    """`on Monday` is the latest one, today's counted; `last Monday` lies before today."""
    back = (today.weekday() - WEEKDAYS[m["day"]] + 1) % 7
    return _one(today - timedelta(back or (7 if m["how"] != "on" else 0)))


# -- Chinese -----------------------------------------------------------------------------------------------------
_HAN_UNIT = {
    "天": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
    "周末": "weekend",
}
_HAN_DAYS = {"今天": 0, "昨天": -1, "前天": -2, "明天": 1, "后天": 2}
_HAN_YEARS = {"今年": 0, "去年": -1, "前年": -2, "明年": 1}


@_rule(
    rf"(?P<year>\d{{4}})年(?:(?P<month>{_HAN_NUMBER})月(?:(?P<day>{_HAN_NUMBER})[日号])?)?",
    spaced=False,
)
def _han_date(m: Any, today: date) -> Days:
    if not m["month"]:
        return date(int(m["year"]), 1, 1), date(int(m["year"]), 12, 31)
    if not m["day"]:
        return _month(int(m["year"]), _number(m["month"]))
    return _one(date(int(m["year"]), _number(m["month"]), _number(m["day"])))


@_rule(rf"(?P<month>{_HAN_NUMBER})月(?:(?P<day>{_HAN_NUMBER})[日号])?", spaced=False)
def _han_month(m: Any, today: date) -> Days:
    if m["day"]:
        return _one(_latest(today, _number(m["month"]), _number(m["day"])))
    found = _latest(today, _number(m["month"]))
    return _month(found.year, found.month)


@_rule(rf"(?P<n>{_HAN_NUMBER}|几)个?(?P<unit>天|周|星期|礼拜|月|年)前", spaced=False)
def _han_ago(m: Any, today: date) -> Days:
    unit = _HAN_UNIT[m["unit"]]
    return (
        _vague(today, "few", unit)
        if m["n"] == "几"
        else _one(_moved(today, unit, -_number(m["n"])))
    )


@_rule(rf"(?:最近|过去)(?P<n>{_HAN_NUMBER})个?(?P<unit>天|周|星期|月|年)", spaced=False)
def _han_last_so_many(m: Any, today: date) -> Days:
    return _moved(today, _HAN_UNIT[m["unit"]], -_number(m["n"])), today


@_rule(
    r"(?P<step>上|本|这|下)个?(?P<unit>周末|周|星期|礼拜|月)(?![一二三四五六日天])", spaced=False
)
def _han_stepped(m: Any, today: date) -> Days:
    return _unit(today, _HAN_UNIT[m["unit"]], {"上": -1, "下": 1}.get(m["step"], 0))


@_rule(rf"(?P<day>{_either(_HAN_DAYS)})", spaced=False)
def _han_day(m: Any, today: date) -> Days:
    return _one(today + timedelta(_HAN_DAYS[m["day"]]))


@_rule(rf"(?P<year>{_either(_HAN_YEARS)})", spaced=False)
def _han_year(m: Any, today: date) -> Days:
    return _unit(today, "year", _HAN_YEARS[m["year"]])


@_rule(r"(?P<half>[上下])半年", spaced=False)
def _han_half(m: Any, today: date) -> Days:
    first = 1 if m["half"] == "上" else 7
    return date(today.year, first, 1), _month(today.year, first + 5)[1]  # type: ignore[index]


@_rule(r"(?<!上|下)(?:周|星期|礼拜)(?P<day>[一二三四五六日天])", spaced=False)
def _han_weekday(m: Any, today: date) -> Days:
    number = 7 if m["day"] in "日天" else _CHINESE.index(m["day"]) + 1
    return _one(today - timedelta((today.weekday() - number + 1) % 7))


# ---- The time that a query names, as one interval; none where it names none, or can be read ----

LONGEST_QUERY = 10_000
"""Characters that are looked at: no person types more, and a pasted page names many dates anyway."""

_NEGATIONS = ("not", "nicht", "kein", "pas", "non", "nu", "不是")
_FROM = (
    "from",
    "between",
    "von",
    "zwischen",
    "de",
    "entre",
    "dal",
    "tra",
    "du",
    "din",
    "intre",
    "с",
    "между",
    "从",
)
_TO = (
    "to",
    "and",
    "until",
    "till",
    "through",
    "-",
    "–",
    "bis",
    "und",
    "a",
    "y",
    "hasta",
    "al",
    "e",
    "au",
    "et",
    "pana la",
    "si",
    "по",
    "и",
    "到",
    "至",
)
_SPAN_MARKS = ("-", "–", "to", "until", "till", "through", "bis", "hasta", "pana la", "到", "至")
"""Between two dates these make a span also without a word before the first."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start` to `end`, both within it, to the microsecond; `phrase` is the folded text that named it."""

    start: datetime
    end: datetime
    phrase: str


class _Found(NamedTuple):
    start: int
    stop: int
    days: Days


def recognise(text: str, now: datetime) -> Interval | None:
    """The one time that the text names, as seen from `now`."""
    folded = fold.__wrapped__(text[:LONGEST_QUERY]).replace("’", "'")
    found = list(_joined(folded, _matches(folded, now)))
    if (
        not found
        or any(_before(folded, f.start, _NEGATIONS) for f in found)
        or len({f.days for f in found}) > 1
    ):
        return None
    first = found[0]
    if first.days is None:
        return None
    begin, end = first.days
    zone = now.tzinfo
    start = datetime(begin.year, begin.month, begin.day, tzinfo=zone)
    stop = datetime(end.year, end.month, end.day, 23, 59, 59, 999999, tzinfo=zone)
    return Interval(start, stop, folded[first.start : first.stop])


def _matches(folded: str, now: datetime) -> list[_Found]:
    """Every date of the text from left to right; where two overlap the longer one, of equals the earlier rule's."""
    found = []
    for order, (pattern, days) in enumerate(RULES):
        for match in pattern.finditer(folded):
            try:
                read = days(match, now.date())
            except (ValueError, OverflowError):  # no such day, or beyond the calendar
                read = None
            found.append(
                (
                    match.start() - match.end(),
                    match.start(),
                    order,
                    _Found(match.start(), match.end(), read),
                )
            )
    kept: list[_Found] = []
    for _, _, _, one in sorted(found, key=lambda f: f[:3]):
        if all(one.stop <= k.start or one.start >= k.stop for k in kept):
            kept.append(one)
    return sorted(kept)[:100]


def _joined(folded: str, found: list[_Found]) -> Iterator[_Found]:
    """The dates, two that are the ends of one span as one."""
    rest = list(found)
    while rest:
        first = rest.pop(0)
        if rest and first.days and rest[0].days:
            between = folded[first.stop : rest[0].start].strip(" ,")
            opened = _before(folded, first.start, _FROM)
            if (opened and between in _TO) or between in _SPAN_MARKS:
                second = rest.pop(0)
                if first.days[0] <= second.days[1]:
                    first = _Found(first.start, second.stop, (first.days[0], second.days[1]))
                else:
                    first = _Found(first.start, second.stop, None)
        yield first


def _before(folded: str, place: int, words: tuple[str, ...]) -> bool:
    """Whether one of the words stands right before a place."""
    head = folded[max(0, place - 24) : place].rstrip()
    return any(
        head.endswith(w) and (w[0] > "\u3000" or not head[: -len(w)][-1:].isalnum()) for w in words
    )
