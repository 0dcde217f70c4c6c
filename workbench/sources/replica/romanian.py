"""What is said in a made-up conversation in Romanian: the incident's target."""

from __future__ import annotations

import random

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
        rng.choice(_TURNS).format(topic=rng.choice(_TOPICS), reason=rng.choice(_REASONS), step=rng.choice(_STEPS))
        for _ in range(rng.choice((1, 1, 2)))
    )
