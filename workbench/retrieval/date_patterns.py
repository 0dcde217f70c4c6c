"""The patterns of dates: each a regular expression over folded text, and the days that a match names.

A rule returns (first day, last day), or None where the text is a date that can be read in two ways.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Any

import regex

from workbench.retrieval import date_words as words
from workbench.text import fold

Days = tuple[date, date] | None
Rule = tuple[Any, Callable[[Any, date], Days]]

RULES: list[Rule] = []

_CHINESE = "一二三四五六七八九十"
_HAN_NUMBER = rf"(?<![{_CHINESE}两零百千万亿\d])(?:\d{{1,3}}|[{_CHINESE}两]{{1,3}})"


def _either(known: Iterable[str]) -> str:
    return "|".join(sorted(map(regex.escape, known), key=len, reverse=True))


_MONTH = rf"(?P<month>{_either(words.MONTHS)})\.?"
_UNIT = rf"(?P<unit>{_either(words.UNITS)})"
_N = rf"(?P<n>\d{{1,4}}|{_either(words.NUMBERS)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.|º|er)?"
_YEAR = r"(?P<year>\d{4})"
_OF = r"(?:\s+(?:de|of|del|d'))?"


def _rule(pattern: str, spaced: bool = True) -> Callable[[Callable[[Any, date], Days]], Callable[[Any, date], Days]]:
    """Register a rule; a spaced one begins and ends where a word does, and is no part of `7-8` or `2001-02`."""
    whole = rf"(?<![\p{{L}}\p{{N}}]|\d[-–/.:]){pattern}(?![\p{{L}}\p{{N}}]|[-–/:]\d)" if spaced else pattern
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
    if text in words.NUMBERS:
        return words.NUMBERS[text]
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    if len(tens) > 1 or len(ones) > 1:
        raise ValueError(text)
    value = _CHINESE.index(ones) + 1 if ones else 0
    return value + (10 * (_CHINESE.index(tens) + 1 if tens else 1) if ten else 0)


# -- written dates -----------------------------------------------------------------------------------------------
@_rule(rf"{_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?:[t ]\d{{1,2}}:\d\d(?::\d\d(?:\.\d+)?)?z?)?")
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
    month, day = words.MONTHS[m["month"]], int(m["day"])
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
    return _month(int(m["year"]), words.MONTHS[m["month"]])


@_rule(rf"(?:in|during|last|since|im|en|dans|nel|em|в|in luna)\s+(?!mar\b|mai\b){_MONTH}")
def _month_alone(m: Any, today: date) -> Days:
    """A month without a year and without such a word before it could be a verb or a name (`may`, `april`), and `mai`
    after one is Romanian for "more": no date."""
    found = _latest(today, words.MONTHS[m["month"]])
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
_OFFSETS = {fold(w).replace("_", " "): step for step, row in words.DAYS.items() for w in row.split()}


@_rule(rf"(?P<day>{_either(_OFFSETS)})")
def _from_today(m: Any, today: date) -> Days:
    if m["day"] == "hier" and _GERMAN.search(m.string):  # "here" in German
        return None
    return _one(today + timedelta(_OFFSETS[m["day"]]))


_GERMAN = regex.compile(r"\b(?:ist|sind|war|der|die|das|den|und|ich|wir|was|wie|wo|wer|nicht|ein|eine)\b")
_STEPS = {"last": -1, "this": 0, "next": 1}


@_rule(rf"(?P<step>{_either(words.BEFORE_UNIT)})\s+{_UNIT}")
@_rule(rf"{_UNIT}\s+(?P<step>{_either(words.AFTER_UNIT)})")
def _stepped(m: Any, today: date) -> Days:
    step = words.BEFORE_UNIT.get(m["step"]) or words.AFTER_UNIT[m["step"]]
    return _unit(today, words.UNITS[m["unit"]], _STEPS[step])


@_rule(rf"(?:last|past|letzten|ultimos|ultimas|ultimele|derniers|dernieres|ultimi|ultime)\s+{_N}\s+{_UNIT}")
def _last_so_many(m: Any, today: date) -> Days:
    return _moved(today, words.UNITS[m["unit"]], -_number(m["n"])), today


def _patterns(forms: Iterable[str], n: str) -> str:
    def filled(form: str) -> str:
        return regex.sub(r"\s+", r"\\s+", form).replace("{n}", n).replace("{unit}", _UNIT).replace(rf"{n}\s+", rf"{n}\s*")

    return "(?|" + "|".join(filled(f) for f in forms) + ")"


@_rule(_patterns(words.AGO, _N))
def _ago(m: Any, today: date) -> Days:
    return _one(_moved(today, words.UNITS[m["unit"]], -_number(m["n"])))


@_rule(_patterns(words.AHEAD, _N))
@_rule(rf"(?<=^\s*)in\s+{_N}\s+{_UNIT}(?=\s*$)")
def _ahead(m: Any, today: date) -> Days:
    return _one(_moved(today, words.UNITS[m["unit"]], _number(m["n"])))


@_rule(rf"(?P<some>{_either(words.COUPLE)})\s+{_UNIT}\s+(?:ago|назад)")
def _some_ago(m: Any, today: date) -> Days:
    return _vague(today, words.COUPLE[m["some"]], words.UNITS[m["unit"]])


def _vague(today: date, some: str, unit: str) -> Days:
    if (some, unit) not in words.VAGUE_SPANS:
        return None
    first, last = words.VAGUE_SPANS[some, unit]
    return today - timedelta(first), today - timedelta(last)


@_rule(rf"(?P<how>on|last|this past)\s+(?P<day>{_either(words.WEEKDAYS)})")
def _weekday(m: Any, today: date) -> Days:
    """`on Monday` is the latest one, today's counted; `last Monday` lies before today."""
    back = (today.weekday() - words.WEEKDAYS[m["day"]] + 1) % 7
    return _one(today - timedelta(back or (7 if m["how"] != "on" else 0)))


# -- Chinese -----------------------------------------------------------------------------------------------------
_HAN_UNIT = {"天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year", "周末": "weekend"}
_HAN_DAYS = {"今天": 0, "昨天": -1, "前天": -2, "明天": 1, "后天": 2}
_HAN_YEARS = {"今年": 0, "去年": -1, "前年": -2, "明年": 1}


@_rule(rf"(?P<year>\d{{4}})年(?:(?P<month>{_HAN_NUMBER})月(?:(?P<day>{_HAN_NUMBER})[日号])?)?", spaced=False)
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
    return _vague(today, "few", unit) if m["n"] == "几" else _one(_moved(today, unit, -_number(m["n"])))


@_rule(rf"(?:最近|过去)(?P<n>{_HAN_NUMBER})个?(?P<unit>天|周|星期|月|年)", spaced=False)
def _han_last_so_many(m: Any, today: date) -> Days:
    return _moved(today, _HAN_UNIT[m["unit"]], -_number(m["n"])), today


@_rule(r"(?P<step>上|本|这|下)个?(?P<unit>周末|周|星期|礼拜|月)(?![一二三四五六日天])", spaced=False)
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
