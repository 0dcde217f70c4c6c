"""What made-up memories talk about: subjects with their own things, troubles and outcomes. Written for this."""

from __future__ import annotations

from dataclasses import dataclass

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
    return Subject(name, *(tuple(x.strip() for x in words.split(";")) for words in (things, troubles, outcomes, files)))


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
