"""The words of dates in nine languages, folded as `text.fold` folds: months, days, units, and what stands with them.

English, Romanian, Spanish, French, Italian, German, Portuguese, Russian; Chinese has patterns of its own.
"""

from __future__ import annotations

from workbench.text import fold


def _numbered(*rows: str) -> dict[str, int]:
    """Each word of the n-th row to n, from 1."""
    return {fold(word): number for number, row in enumerate(rows, 1) for word in row.split()}


def _named(**rows: str) -> dict[str, str]:
    """Each word (`_` for a blank) to its row's name."""
    return {fold(word).replace("_", " "): name for name, row in rows.items() for word in row.split()}


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

AGO = ("{n} {unit} ago", "hace {n} {unit}", "il y a {n} {unit}", "{n} {unit} fa", "vor {n} {unit}", "ha {n} {unit}",
       "{n} {unit} назад", "acum {n} {unit}")  # fmt: skip
AHEAD = ("{n} {unit} from now", "через {n} {unit}")
"""`in six months` is a duration as often (`peste`, `dans` and `fra` too): it is a date only as the whole query."""

NUMBERS = _numbered(
    "one a an un una une uno ein eine einem einer um uma один одну o",
    "two dos deux due zwei dois duas два две doi două", "three tres trois tre drei três три trei",
    "four cuatro quatre quattro vier quatro четыре patru", "five cinco cinq cinque fünf пять cinci",
    "six seis sei sechs шесть șase", "seven siete sept sette sieben sete семь șapte", "eight ocho huit otto acht oito восемь opt",
    "nine nueve neuf nove neun девять nouă", "ten diez dix dieci zehn dez десять zece",
)  # fmt: skip

COUPLE = _named(couple="couple_of couple a_couple_of a_couple пару пары", few="few a_few несколько")

WEEKDAYS = _numbered("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

VAGUE_SPANS = {
    ("couple", "day"): (3, 1), ("few", "day"): (5, 2), ("couple", "week"): (21, 7), ("few", "week"): (35, 14),
    ("couple", "month"): (90, 30), ("few", "month"): (150, 60),
}  # fmt: skip
"""How many days ago such a time began and ended: the reading of the public set `date-queries`."""
