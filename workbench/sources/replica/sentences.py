"""The pool of sentences that memories are made of: templates by kind of memory, filled from a subject's words."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache

from workbench.sources.replica.tables import SpecError
from workbench.sources.replica.words import PEOPLE, PLACES, SUBJECTS, WHEN, Subject

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
            raise SpecError(f"nothing is known of {match[0]}", where=template, do=f"There are {', '.join(values)}")
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
