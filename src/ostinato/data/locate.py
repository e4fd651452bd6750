"""Find the files of data sets."""

import os
from pathlib import Path

from ..errors import BadInput
from ..files import cache_folder

# Data sets whose folder has another name.
NAMES = {"enwiki_xml": "enwiki"}


def data_folders() -> list[Path]:
    """The folders to search: `$OSTINATO_DATA` if it is set, then the cache."""
    given = os.environ.get("OSTINATO_DATA")
    return [*([Path(given).expanduser()] if given else []), cache_folder()]


def find_data(relative: str) -> Path:
    """The path of a data set's file in the first of `data_folders` that has it.

    Nothing is downloaded; if the file is missing, the error says how to get it.

    Args:
        relative: the folder of the data set and the name of the file, for example
            `"jsb/JSB_Chorales.mat"`.
    """
    for folder in data_folders():
        if (folder / relative).is_file():
            return folder / relative
    looked = " or ".join(map(str, data_folders()))
    folder_name = relative.split("/", maxsplit=1)[0]
    raise BadInput(
        f"there is no {relative} in {looked}; "
        f"run `ostinato data get {NAMES.get(folder_name, folder_name)}`, "
        "or set OSTINATO_DATA to the folder that holds it"
    )
