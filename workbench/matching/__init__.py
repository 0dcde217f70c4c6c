"""Record and replay: fingerprints, tiers, cascade, review queue and call log over one SQLite file a project.

from workbench.matching.library import open_library
from workbench.matching.cascade import ask
from workbench.matching.request import plain

with open_library("demo") as library:
    outcome = ask(library, plain("Hello"))
"""
