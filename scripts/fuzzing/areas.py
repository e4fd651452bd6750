"""The areas, and how many of each thousand cases they have: add one here."""

from collections.abc import Callable

from .broken_cells import broken_cells
from .command_line import command_line
from .folders import folders
from .library import library
from .modules import modules
from .outcomes import Case
from .settings import settings
from .strangers import links, strangers
from .tables import tables
from .texts import texts
from .unrolling import gradients, unrolling

AREAS: dict[str, tuple[Callable[[Case], str], int]] = {
    "command_line": (command_line, 200),
    "folders": (folders, 200),
    "strangers": (strangers, 50),
    "links": (links, 50),
    "tables": (tables, 200),
    "texts": (texts, 200),
    "settings": (settings, 150),
    "modules": (modules, 60),
    "unrolling": (unrolling, 80),
    "gradients": (gradients, 20),
    "library": (library, 80),
    "broken_cells": (broken_cells, 10),
}
