"""What made-up memories talk about: subjects with their own things, troubles and outcomes. Written for this."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache

from workbench.sources.replica.tables import SpecError

# ---- What made-up memories talk about: subjects with their own things, troubles and outcome ----

PEOPLE = (
    "Ana", "Bogdan", "Carmen", "Dinu", "Elif", "Farah", "Goran", "Hanna", "Ilie", "Jonas", "Kaya", "Lucia",
    "Marek", "Nadia", "Otto", "Paula", "Radu", "Sofia", "Tudor", "Vera", "Wanda", "Yusuf",
)  # fmt: skip
PLACES = ("at the kitchen table", "on the train", "in the workshop", "at the north office", "at the shared desk",
          "on the phone", "in the van")  # fmt: skip
WHEN = ("early this week", "before lunch", "overnight", "after the release", "during the freeze", "last Friday",
        "on the second try", "while travelling", "right after the backup", "at the end of the sprint")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """One field of work. Every word list holds at least eight entries, so that sentences vary."""

    name: str
    things: tuple[str, ...]
    troubles: tuple[str, ...]
    outcomes: tuple[str, ...]
    files: tuple[str, ...]


def _subject(name: str, things: str, troubles: str, outcomes: str, files: str) -> Subject:
    return Subject(
        name,
        *(
            tuple(x.strip() for x in words.split(";"))
            for words in (things, troubles, outcomes, files)
        ),
    )


SUBJECTS = (
    _subject(
        "storage",
        "the write-ahead log; the snapshot folder; the blob index; the compaction queue; the cold tier; "
        "the retention rule; the replica set; the lock file; the checksum table; the page cache",
        "grows without bound; loses the last segment; returns a stale page; stalls behind a slow disk; "
        "keeps a handle open; reports free space twice; skips the checksum; fills the temporary volume",
        "a segment is closed after ten minutes; the cleaner runs before the copy; the size is read from the manifest; "
        "old pages are dropped first; the copy is verified by hash; a failed copy is retried once; "
        "the volume has its own quota; the log is truncated at every checkpoint",
        "store/log.rs; store/snapshot.rs; ops/retention.yaml; store/cache.rs; tools/verify.sh; store/tier.rs; "
        "docs/storage.md; store/lock.rs",
    ),
    _subject(
        "checkout",
        "the basket service; the tax table; the voucher field; the card form; the address check; the refund job; "
        "the order e-mail; the stock reservation; the currency switch; the invoice number",
        "charges the card twice; rounds the tax the wrong way; forgets the voucher; rejects a valid address; "
        "holds the stock for a day; sends the mail in the wrong language; loses the order reference; times out at the bank",
        "the amount is kept in cents; the voucher is checked on the server; a reservation ends after an hour; "
        "the bank's answer is stored first; the mail is sent from the queue; refunds need two people; "
        "the address is only a hint; the invoice gets its number last",
        "shop/basket.py; shop/tax.py; shop/mail/order.html; shop/refund.py; shop/stock.py; tests/test_tax.py; "
        "shop/forms.ts; docs/checkout.md",
    ),
    _subject(
        "firmware",
        "the bootloader; the sensor bus; the watchdog; the radio stack; the battery gauge; the update partition; "
        "the serial console; the temperature probe; the flash driver; the wake timer",
        "resets under load; misses the first byte; drains in standby; drifts in the cold; hangs after the update; "
        "answers on the wrong address; overwrites the settings page; floods the console",
        "the timer is stopped before sleep; the bus is scanned twice; the old image stays until the first good boot; "
        "the gauge is read through a filter; the console is off in release builds; the page is written in two steps; "
        "the watchdog is fed from the main loop only; the probe has its own table",
        "fw/boot.c; fw/bus.c; fw/radio.c; fw/power.c; boards/rev_c.dts; fw/flash.c; tools/flash.py; fw/watchdog.c",
    ),
    _subject(
        "mapping",
        "the tile cache; the coastline layer; the route planner; the elevation grid; the address search; "
        "the contour style; the import of field sketches; the projection; the label placement; the bus stops",
        "drops small islands; turns left into the river; repeats labels at the seam; loads the wrong zoom; "
        "mixes up two streets; is a metre off near the border; ignores the ferry; draws over the legend",
        "the seam is drawn once; ferries count as slow roads; labels give way to stops; the grid is kept as integers; "
        "tiles older than a season are redrawn; street names are matched with their district; "
        "the border uses the newer survey; the legend has its own layer",
        "map/tiles.go; map/route.go; styles/contour.json; map/labels.go; data/stops.csv; map/grid.go; "
        "map/search.go; docs/projection.md",
    ),
    _subject(
        "hiring",
        "the interview plan; the reading exercise; the offer letter; the referral list; the first-week checklist; "
        "the salary bands; the candidate portal; the reference call; the job page; the trial day",
        "takes too long; asks the same question twice; goes out with the wrong start; "
        "leaves the candidate waiting; is missing from the folder; confuses two applicants; scares off good people; "
        "is read by nobody",
        "every candidate gets an answer in a week; the exercise takes an hour at most; two people read each letter; "
        "bands are shown on the page; the buddy is named before the first day; notes are written the same day; "
        "the call has five fixed questions; the portal closes with the role",
        "people/plan.md; people/offer.docx; people/bands.ods; people/checklist.md; people/questions.md; "
        "people/portal.md; people/page.md; people/trial.md",
    ),
    _subject(
        "garden",
        "the tomato bed; the rain barrel; the compost heap; the plum tree; the greenhouse door; the drip hose; "
        "the seed box; the herb spiral; the bee hotel; the shed roof",
        "dries out over the weekend; leaks at the tap; smells of onions; has rust on the leaves; jams in the frame; "
        "clogs with sand; sprouts in the drawer; loses a tile in every storm",
        "water goes to the roots only; the barrel is emptied before frost; seeds are sorted by sowing time; "
        "the tree is cut in late winter; leaves stay under the hedge; the hose is flushed monthly; "
        "the door gets a new hinge; basil moves indoors",
        "garden/beds.md; garden/seeds.csv; garden/water.md; garden/trees.md; photos/shed; garden/bees.md; "
        "garden/plan.svg; garden/shopping.md",
    ),
    _subject(
        "translation",
        "the glossary; the plural rules; the string export; the review queue; the screenshot set; the voice guide; "
        "the date formats; the fallback language; the spell checker; the term base",
        "cuts long words; mixes formal and informal address; shows keys in place of text; loses the line break; "
        "translates product names; marks correct words as wrong; imports yesterday's file; sorts letters wrongly",
        "names are never translated; each string has a screenshot; plural forms are tested; "
        "the informal address is used in the app; missing strings fall back to English; reviewers see both versions; "
        "letters with marks sort after their base; exports run nightly",
        "i18n/ro.po; i18n/glossary.csv; i18n/export.py; i18n/plurals.json; i18n/voice.md; i18n/check.py; "
        "i18n/shots; docs/translation.md",
    ),
    _subject(
        "search",
        "the query parser; the synonym list; the result page; the index job; the spelling hint; the ranking test; "
        "the recent items; the access filter; the snippet builder; the crawler",
        "finds nothing for short words; shows deleted pages; ranks the imprint first; ignores quotation marks; "
        "loops on redirects; highlights half a word; hides shared folders; indexes the same page twice",
        "deleted pages leave the index at once; quotes mean exact words; the filter is applied before ranking; "
        "snippets end at a sentence; synonyms are one-way; the crawler keeps a list of seen addresses; "
        "recent items are private; the test set is frozen",
        "search/parser.py; search/index.py; search/rank.py; search/snippets.py; data/synonyms.txt; "
        "tests/test_rank.py; search/crawl.py; docs/search.md",
    ),
    _subject(
        "travel",
        "the night train; the hotel in Cluj; the visa form; the rental car; the packing list; the boarding pass; "
        "the ferry ticket; the travel budget; the conference badge; the airport bus",
        "is booked for the wrong day; needs a printed copy; has no seat for the bike; falls through at short notice; "
        "costs more than planned; lies in the other bag; asks for a middle name; leaves from the far platform",
        "tickets are kept offline; the hotel is paid on arrival; everyone carries a copy of the form; "
        "the bike goes by freight; the earlier bus is safer; receipts are photographed the same day; "
        "the badge comes by mail; seats are reserved both ways",
        "trips/plan.md; trips/receipts; trips/packing.md; trips/visa.pdf; trips/budget.ods; trips/contacts.md; "
        "trips/train.md; trips/map.gpx",
    ),
    _subject(
        "laboratory",
        "the centrifuge; the sample freezer; the pipette set; the buffer solution; the plate reader; "
        "the incubator; the protein gel; the waste log; the label printer; the cell line",
        "drifts by half a degree; shows bands where none should be; runs out before the last plate; "
        "prints the wrong rack; foams at high speed; fails the blank; is left open; is contaminated again",
        "blanks run first and last; samples are thawed once; racks are labelled on two sides; "
        "the reader warms up for an hour; gels are kept as raw images; pipettes are checked monthly; "
        "buffers carry the day they were made; the freezer has a spare key",
        "lab/protocol.md; lab/plates.csv; lab/gel.tif; lab/inventory.csv; lab/waste.md; lab/reader.py; "
        "lab/labels.zpl; lab/cells.md",
    ),
    _subject(
        "music",
        "the second movement; the cello part; the rehearsal room; the tempo map; the choir entry; the recording desk; "
        "the page turns; the brass section; the programme leaflet; the spare strings",
        "drags in the middle; enters a bar early; is booked by the dance class; clips in loud passages; "
        "hides the oboe; falls at the worst place; lists the wrong soloist; goes missing again",
        "the conductor breathes before the entry; parts are printed large; the hall opens half an hour earlier; "
        "microphones stay where they are; the oboe gets a solo line; turns fall on rests; "
        "the leaflet is proofread aloud; strings are kept in the case",
        "scores/second.mscz; scores/parts.pdf; audio/take_three.wav; scores/tempo.mid; notes/leaflet.md; "
        "audio/mix.rpp; scores/choir.pdf; notes/room.md",
    ),
    _subject(
        "billing",
        "the usage meter; the invoice run; the dunning letter; the plan change; the credit note; the ledger export; "
        "the payment webhook; the trial period; the price list; the cost centre",
        "counts failed calls; skips leap days; sends letters to closed accounts; prorates twice; "
        "loses the purchase number; rounds before it adds; arrives out of order; shows last year's prices",
        "events are deduplicated by key; the run can be repeated; prices are versioned; closed accounts get no mail; "
        "sums are added before rounding; the export is signed; a trial ends at midnight local time; "
        "credit notes refer to their invoice",
        "billing/meter.py; billing/run.py; billing/export.sql; billing/hooks.py; billing/plans.toml; "
        "billing/letters.html; tests/test_meter.py; docs/billing.md",
    ),
)


# ---- The pool of sentences that memories are made of: templates by kind of memory, filled f ----

KINDS = ("note", "activity", "commit", "transcript", "schedule")

# One seed for the sentences of every replica: replicas that differ by seed differ in which memory holds which
# sentence, so their parts are embedded once.
POOL_SEED = "sentences"

ROUNDS = 4
"""Each of a kind's 24 templates is filled four times for each of 12 subjects: 5,760 sentences, each embedded once."""

TEMPLATES: dict[str, tuple[str, ...]] = {
    "note": (
        "{Thing} {trouble}; it was {person} who noticed it {when}.",
        "Decided with {person}: {outcome}, even if {thing} becomes slower for it.",
        "Open question: why {thing} {trouble} only when {thing2} is busy.",
        "What we learned from {thing}: {outcome}.",
        "{person} suggests that we look at {thing2} before touching {thing} again.",
        "The cheap way out is to leave {thing} alone and make sure that {outcome}.",
        "For later: compare {thing} with {thing2}, because both seem to depend on the same assumption.",
        "It helps to remember that {outcome}, which is not obvious from {file}.",
        "Wrote down how {thing} works so that {person} does not have to ask again.",
        "If {thing} {trouble} once more, we go back to the old way and say so openly.",
        "There are {n} places that rely on {thing}; only {file} says so.",
        "{person} and {person2} disagree about {thing2}, and both have a point.",
        "I trust {thing} less since I saw that it {trouble}.",
        "Rule of thumb from {person}: {outcome}.",
        "Not worth an afternoon: {thing} {trouble}, but nobody is harmed by it.",
        "The drawing in {file} shows {thing} before {thing2}; it should be the other way round.",
        "Asked {person} for the story behind {thing}; it goes back to a customer who left long ago.",
        "Nobody owns {thing2}, which explains much of what we see in {thing}.",
        "Keep in mind for the budget: {thing} needs about {n} hours a year.",
        "My guess is that {thing2} hides the fact that {thing} {trouble}.",
        "{person2} tried it without {thing} {when} and did not miss it.",
        "Two sentences for the handbook: {outcome}. The exception is {thing2}.",
        "Compared with last year {thing} is the smaller worry, {thing2} the larger one.",
        "Promised {person} an answer about {thing}; the short one is that {outcome}.",
    ),
    "activity": (
        "Read {file} and found {n} mentions of {thing}.",
        "Ran the checks for {thing}: {n} passed, {m} failed, the failures say that it {trouble}.",
        "Searched the project for {thing2}, opened {file} and summarised it for {person}.",
        "Edited {file} so that {outcome}; asked {person} for a look.",
        "The tool call returned {n} rows for {thing}, which was cut to the first {m}.",
        "Answered {person}'s question whether {thing} still {trouble}: yes, but rarely.",
        "Stored a memory: {outcome}.",
        "Opened {file} {when}, compared it {place} with the older copy, no difference but white space.",
        "Planned {n} steps for {thing}, finished {m} of them and stopped at the one about {thing2}.",
        "Could not reproduce that {thing} {trouble}; tried {n} times with fresh data.",
        "Recalled {n} memories about {thing}, {m} of them from other projects.",
        "Listed the folder of {file}: {n} entries, the newest by {person}.",
        "Waited {n} seconds for {thing}, then went on without it.",
        "Wrote a draft about {thing2} and left it open for {person2}.",
        "Did not touch {file}, because {person} works on it.",
        "Explained to {person} why {thing} {trouble}, with two examples from {file}.",
        "Converted {file} and checked {n} lines by hand.",
        "The answer about {thing} was marked as wrong by {person}; the right one is that {outcome}.",
        "Opened a ticket: {thing} {trouble}.",
        "Asked for permission to change {thing2}, granted by {person2}.",
        "Read {n} messages about {thing} and marked {m} as done.",
        "Stopped, because {thing2} was not reachable from here.",
        "Made a table of {thing} by week with {n} rows.",
        "Proposed to {person} that {outcome}; no answer yet.",
    ),
    "commit": (
        "Make sure that {outcome}.",
        "Before, {thing} {trouble} whenever {thing2} was touched in the same run.",
        "Move the handling of {thing} into {file} and drop {n} lines that nobody called.",
        "Reviewed by {person}; {person2} tried it {place}.",
        "Add a test for the case where {thing} {trouble}.",
        "Rename what {file} exports, so that {thing2} reads like what it is.",
        "No change in behaviour: {thing} only gets a name and a place of its own.",
        "This reverts the shortcut for {thing2}, because {thing} {trouble} in the field.",
        "The limit for {thing} is now {n} and can be set per project.",
        "Touches {file} only.",
        "The old path stays for {n} days, then {thing} uses the new one alone.",
        "Say in the message that {thing} {trouble}, where before there was silence.",
        "Follow-up to the change of {person}, who asked that {outcome}.",
        "Measured {place}: {n} runs, {m} of them faster than before.",
        "Split {file} in two, one half for {thing}, one for {thing2}.",
        "Remove a setting that nobody could explain; {thing} does the right thing without it.",
        "Write down in {file} why {outcome}.",
        "Let {thing2} fail early instead of late.",
        "The order of {thing} and {thing2} no longer matters.",
        "Close the gap through which {thing} {trouble}.",
        "Format {file}; no other change.",
        "Ask {person} before extending this to {thing2}.",
        "Use one name for {thing} everywhere, {n} places changed.",
        "Prepare for the day on which {thing2} goes away.",
    ),
    "transcript": (
        "{person}: I still think {thing} is the part that {trouble}.",
        "{person}: Can we agree that {outcome}? Otherwise we come back to this every time.",
        "{person}: Give me {n} days for {thing2}, then we look at it together.",
        "{person}: Honestly, {thing} was never meant for that.",
        "{person}: And who tells {person2} that {thing} {trouble}?",
        "{person}: I can show it, let me share my screen, it is in {file}.",
        "{person}: We had {n} complaints about {thing}, most of them {when}.",
        "{person}: Fine with me, as long as {outcome}.",
        "{person}: Sorry, I was {place}, could you say the last part about {thing2} again?",
        "{person}: Then let us write it down and close the point about {thing}.",
        "{person}: Did anybody try what happens to {thing} without {thing2}?",
        "{person}: My fear is that {thing} {trouble} right when we need it.",
        "{person}: {person2} knows more about {thing2} than I do.",
        "{person}: That was the plan {when}, but nobody told me.",
        "{person}: So the question is whether {outcome}, yes or no.",
        "{person}: I would rather lose {thing} than wait another month.",
        "{person}: Let us not decide about {thing2} while {person2} is away.",
        "{person}: Okay, I take {thing}, you take {thing2}, and we compare.",
        "{person}: I have {file} open, the second line says something else.",
        "{person}: Nobody disagrees, so: {outcome}.",
        "{person}: It took me {n} minutes to find out that {thing} {trouble}.",
        "{person}: Is {thing2} even ours?",
        "{person}: Could you mute yourself, {person2}, there is an echo.",
        "{person}: I will send a summary about {thing} to everybody.",
    ),
    "schedule": (
        "{person} takes care of {thing}, {person2} stands in.",
        "Slot for {thing2} moved, because {thing} {trouble}.",
        "Bring {file} and the list of open points about {thing}.",
        "We sit {place}; {n} people have confirmed.",
        "Reminder: {outcome}.",
        "Handover of {thing} from {person} to {person2}, half an hour is enough.",
        "Deadline for {thing} stays, {thing2} may slip by {n} days.",
        "Maintenance of {thing}, expect it to be away for {n} minutes.",
        "{person} is out, questions about {thing} go to {person2}.",
        "Check {thing} {when}, then tell {person}.",
        "Walk through {file} with {person}.",
        "Every second week: look after {thing2}.",
        "Call with {person} about {thing}, she brings the figures.",
        "Review of {thing}, {person2} prepares {file}.",
        "No appointment about {thing2} this time.",
        "Visit {place}, take {person} along.",
        "Block the morning for {thing}.",
        "Order what {thing2} needs, {n} pieces.",
        "{person} shows {thing} to the newcomers.",
        "Decide whether {outcome}.",
        "Lunch with {person} and {person2}, then {thing}.",
        "Send the question about {thing} to {person} beforehand.",
        "Last day to object to {thing2}.",
        "Switch {thing} on again and watch it for {n} minutes.",
    ),
}

# A heading's own places for dates and times are in `dates.SLOTS`.
HEADINGS: dict[str, tuple[str, ...]] = {
    "note": ("{project}, {year}-{month}-{day}", "On {thing}", "{person}, {day}.{month}.{year}", "{project}, {hour}:{minute}",
             "{year}-{month}-{day} {hour}:{minute}"),
    "activity": ("{year}-{month}-{day} {hour}:{minute} agent in {project}", "agent in {project}, {hour}:{minute}",
                 "{year}-{month}-{day} {hour}:{minute}"),
    "commit": ("commit {hex}\n{person}, {year}-{month}-{day} {hour}:{minute}", "commit {hex}\n{person}",
               "{hex}\n{year}-{month}-{day} {hour}:{minute}"),
    "transcript": ("Recording of {person} and {person2}, {hour}:{minute}", "{project} call, {year}-{month}-{day} {hour}:{minute}",
                   "{person}, {person2}", "{year}-{month}-{day} {hour}:{minute}"),
    "schedule": ("{project} {year}-{month}-{day} {hour}:{minute}", "{day}.{month}.{year} {hour}:{minute}", "{thing}, {hour}:{minute}",
                 "Plan of {project}"),
}  # fmt: skip

_FIELD = re.compile(r"\{(\w+)\}")


def substitute(template: str, values: Mapping[str, object]) -> str:
    """The template with each `{name}` replaced. Raises SpecError for a name that nothing is known of."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise SpecError(
                f"nothing is known of {match[0]}",
                where=template,
                do=f"There are {', '.join(values)}",
            )
        return str(values[match[1]])

    return _FIELD.sub(value, template)


def fields(rng: random.Random, subject: Subject) -> dict[str, object]:
    """What a template's fields stand for this time."""
    thing, thing2 = rng.sample(subject.things, 2)
    person, person2 = rng.sample(PEOPLE, 2)
    return {
        "thing": thing, "Thing": thing[0].upper() + thing[1:], "thing2": thing2, "person": person, "person2": person2,
        "trouble": rng.choice(subject.troubles), "outcome": rng.choice(subject.outcomes),
        "file": rng.choice(subject.files), "place": rng.choice(PLACES), "when": rng.choice(WHEN),
        "n": rng.randint(2, 99), "m": rng.randint(2, 99),
    }  # fmt: skip


@cache
def pool() -> dict[tuple[str, str], tuple[str, ...]]:
    """(kind, subject name) to distinct sentences, the same for every replica. Templates come round in one order,
    so that a stride which shares no factor with their number repeats none before all were used."""
    out = {}
    for kind in KINDS:
        for subject in SUBJECTS:
            rng = random.Random(f"{POOL_SEED}/{kind}/{subject.name}")
            found: dict[str, None] = {}
            for template in TEMPLATES[kind] * ROUNDS:
                text = substitute(template, fields(rng, subject))
                while text in found:
                    text = substitute(template, fields(rng, subject))
                found[text] = None
            out[kind, subject.name] = tuple(found)
    return out


# ---- What is said in a made-up conversation in Romanian: the incident's target ----

SPEAKERS = ("Ana", "Mihai", "Ioana", "Radu")

_TOPICS = (
    "bugetul pentru trimestrul viitor", "contractul cu furnizorul din Brașov", "mutarea serverelor în noua clădire",
    "raportul pentru consiliu", "angajarea unui coleg la suport", "planul de concedii", "problema cu facturile întârziate",
    "instruirea echipei din Iași", "licențele care expiră", "chestionarul pentru clienți", "noua pagină de prezentare",
    "garanția echipamentelor", "transportul către depozit", "auditul de securitate", "prețurile pentru parteneri",
)  # fmt: skip
_REASONS = (
    "nu am primit încă toate cifrele", "furnizorul cere un avans mai mare", "oamenii sunt deja foarte încărcați",
    "termenul inițial a fost prea optimist", "trebuie să întrebăm și departamentul juridic",
    "ultima variantă avea două greșeli de calcul", "clientul și-a schimbat părerea de două ori",
    "nu avem pe nimeni care să răspundă la telefon", "banca a întârziat confirmarea", "am pierdut o zi întreagă cu drumul",
    "sistemul vechi nu mai acceptă fișiere atât de mari", "așteptăm semnătura directorului",
)  # fmt: skip
_STEPS = (
    "să trimitem o listă scurtă până diseară", "să vorbim direct cu ei, nu prin mesaje", "să păstrăm varianta simplă",
    "să amânăm decizia până vineri", "să cerem încă o ofertă", "să împărțim munca în două etape",
    "să scriem clar cine răspunde de fiecare punct", "să facem o probă cu un singur client",
    "să verificăm încă o dată sumele", "să anunțăm echipa înainte să afle de pe coridor",
    "să renunțăm la partea care nu e urgentă", "să ținem legătura zilnic, măcar zece minute",
)  # fmt: skip
_OPENERS = ("Bună dimineața tuturor, mă auziți bine?", "Da, te aud, dar imaginea se blochează din când în când.",
            "Hai să începem, că avem doar câteva minute.")  # fmt: skip
_TURNS = (
    "Aș vrea să discutăm mai întâi despre {topic}, pentru că {reason}.",
    "Din punctul meu de vedere, {topic} poate să mai aștepte; {reason} și nu cred că ne ajută graba.",
    "Bine, atunci propun {step}, iar eu mă ocup de {topic}.",
    "Stai puțin, nu am înțeles: {reason}, sau a fost doar o presupunere?",
    "Ce facem cu {topic}? Data trecută am rămas că cineva se uită peste documente și nu s-a uitat nimeni.",
    "Eu zic {step}. Dacă nu merge, ne întoarcem la ce aveam înainte și gata.",
    "Sunt de acord, însă țineți minte că {reason}.",
    "Am vorbit ieri cu ei și mi-au spus că pentru {topic} e nevoie de încă două săptămâni.",
    "Nu vreau să ne grăbim. Mai bine {step}, decât să o luăm de la capăt peste o lună.",
    "Îmi notez: {topic}, și pe urmă {step}.",
    "Mie mi se pare că ocolim întrebarea adevărată: cine plătește pentru {topic}?",
    "Asta e o veste bună, măcar știm la ce să ne așteptăm.",
    "Și dacă {reason}, cum le explicăm celorlalți întârzierea?",
    "Lăsați-mă să verific în seara asta, vă scriu imediat ce aflu ceva despre {topic}.",
)


def openers() -> tuple[str, ...]:
    """How a conversation begins."""
    return _OPENERS


def turn(rng: random.Random) -> str:
    """What one speaker says at once."""
    return " ".join(
        rng.choice(_TURNS).format(
            topic=rng.choice(_TOPICS), reason=rng.choice(_REASONS), step=rng.choice(_STEPS)
        )
        for _ in range(rng.choice((1, 1, 2)))
    )


# ---- Dates and times that hold exactly the counted numbers asked for, and none of the other ----

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip

# What can stand in each place of a heading, as text. Years are those of a young collection around the incidents.
SLOTS: dict[str, tuple[str, ...]] = {
    "year": tuple(str(y) for y in range(2019, 2027)),
    "month": tuple(f"{m:02d}" for m in range(1, 13)),
    "day": tuple(f"{d:02d}" for d in range(1, 29)),
    "hour": tuple(f"{h:02d}" for h in range(7, 23)),
    "minute": tuple(f"{m:02d}" for m in range(60)),
    "monthname": MONTHS,
}
_FITS = {
    "year": lambda t: len(t) == 4 and t.isdigit() and t[:2] in ("19", "20"),
    "month": lambda t: len(t) == 2 and t.isdigit() and 1 <= int(t) <= 12,
    "day": lambda t: len(t) == 2 and t.isdigit() and 1 <= int(t) <= 28,
    "hour": lambda t: len(t) == 2 and t.isdigit() and int(t) <= 23,
    "minute": lambda t: len(t) == 2 and t.isdigit() and int(t) <= 59,
    "monthname": lambda t: t.capitalize() in MONTHS,
}


def dateable(term: str) -> bool:
    """Whether a term can stand in a date or a time."""
    return any(fits(term) for fits in _FITS.values())


def slots_of(template: str) -> tuple[str, ...]:
    """The date and time places that a template has."""
    return tuple(s for s in SLOTS if "{" + s + "}" in template)


def fill(
    rng: random.Random, slots: tuple[str, ...], wanted: Set[str], counted: Set[str]
) -> dict[str, str] | None:
    """A value for each slot so that every wanted term stands in one, and no other counted term does.

    None where the wanted terms do not fit into these slots.
    """
    chosen: dict[str, str] = {}
    # The hardest to place first: a term that fits few of the slots; ties by the term itself.
    for term in sorted(wanted, key=lambda t: (sum(_FITS[s](t) for s in slots), t)):
        free = [s for s in slots if s not in chosen and _FITS[s](term)]
        if not free:
            return None
        slot = rng.choice(free)
        chosen[slot] = term.capitalize() if slot == "monthname" else term
    for slot in slots:
        if slot not in chosen:
            chosen[slot] = rng.choice([v for v in SLOTS[slot] if v.casefold() not in counted])
    return chosen
