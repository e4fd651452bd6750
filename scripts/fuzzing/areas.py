"""The areas, and how many of each thousand cases they have: add one here."""

from collections.abc import Callable

from .artefacts import artefacts
from .broken_cells import broken_cells
from .command_line import command_line
from .connections import connections
from .everyday import everyday
from .folders import folders
from .labels import labels
from .library import library
from .modules import modules
from .outcomes import Case
from .series_elsewhere import series_elsewhere
from .settings import settings
from .strangers import links, strangers
from .subclasses import subclasses
from .tables import tables
from .texts import texts
from .threads import threads
from .unrolling import gradients, unrolling
from .verbs import verbs
from .visitors import visitors

AREAS: dict[str, tuple[Callable[[Case], str], int]] = {
    "command_line": (command_line, 80),
    "verbs": (verbs, 40),
    "folders": (folders, 150),
    "artefacts": (artefacts, 150),
    "strangers": (strangers, 50),
    "links": (links, 40),
    "tables": (tables, 150),
    "everyday": (everyday, 60),
    "visitors": (visitors, 90),
    "connections": (connections, 20),
    "series_elsewhere": (series_elsewhere, 40),
    "labels": (labels, 20),
    "texts": (texts, 70),
    "settings": (settings, 60),
    "modules": (modules, 25),
    "unrolling": (unrolling, 30),
    "gradients": (gradients, 8),
    "library": (library, 30),
    "broken_cells": (broken_cells, 7),
    "subclasses": (subclasses, 8),
    "threads": (threads, 3),
}
