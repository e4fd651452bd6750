"""What people call a run: a name, tags, a note, and whether it is archived.

They lie in `labels.json` in the run folder, so they move and are copied with it. Training neither
reads nor writes the file.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...files import read_json, unlinked, write_whole
from ...settings import shown

NAME = "labels.json"
TRASH = ".trash"  # a folder of deleted runs below that of the runs, which no list looks into
LARGEST = 1 << 16  # bytes of the file
LONGEST_TITLE, LONGEST_TAG, MAX_TAGS, LONGEST_NOTE = 120, 40, 20, 4000


@dataclasses.dataclass(frozen=True)
class Labels:
    """What people call a run.

    Attributes:
        title: a name to show in place of the folder's.
        tags: single words.
        note: any text.
        archived: whether lists leave the run out unless they are asked for it.

    Example:
        >>> Labels(title="Our baseline", tags=("paper",)).write(Path("runs/text-mlstm-1"))
        >>> Labels.read(Path("runs/text-mlstm-1")).title
        'Our baseline'
        >>> (Path("runs/text-mlstm-1") / NAME).unlink()
    """

    title: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    archived: bool = False

    @classmethod
    def checked(cls, given: Any) -> "Labels":
        """The labels that a JSON object says; `BadInput` for what is wrong with it."""
        names = [field.name for field in dataclasses.fields(cls)]
        if not isinstance(given, dict) or not given.keys() <= {*names}:
            raise BadInput(f"labels are {', '.join(names)}; got {shown(given)}")
        title = _text("the name", given.get("title", ""), LONGEST_TITLE).strip()
        if title and not title.isprintable():
            raise BadInput("the name of a run is one line")
        tags = given.get("tags", [])
        if not isinstance(tags, list) or len(tags) > MAX_TAGS:
            raise BadInput(f"tags are a list of at most {MAX_TAGS} words")
        for tag in tags:
            word = _text("a tag", tag, LONGEST_TAG)
            if not word.isprintable() or word.split() != [word] or "," in word:
                raise BadInput(f"a tag is one word without a comma, got {shown(tag)}")
        archived = given.get("archived", False)
        if type(archived) is not bool:
            raise BadInput(f"archived must be true or false, got {shown(archived)}")
        note = _text("the note", given.get("note", ""), LONGEST_NOTE)
        return cls(title, tuple(dict.fromkeys(tags)), note, archived)

    @classmethod
    def read(cls, folder: Path) -> "Labels":
        """The labels of a run folder; none if there is no file, or not one that `write` makes."""
        try:
            return cls.checked(read_json(folder / NAME, LARGEST, links=False))
        except (OSError, ValueError):
            return cls()

    def write(self, folder: Path) -> None:
        """Keep the labels in a run folder, atomically; nothing is written through a link."""
        words = json.dumps(dataclasses.asdict(self), ensure_ascii=False, indent=2)
        write_whole(unlinked(folder, folder / NAME), f"{words}\n".encode())


def _text(what: str, given: Any, longest: int) -> str:
    if not isinstance(given, str) or "\0" in given:
        raise BadInput(f"{what} must be text, got {shown(given)}")
    if len(given) > longest:
        raise BadInput(f"{what} has at most {longest:,} characters, got {len(given):,}")
    try:
        given.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold
        raise BadInput(f"{what} must be text, got {shown(given)}") from None
    return given
