"""What people call a run: a name, tags, a note, and whether it is archived.

They lie in `labels.json` in the run folder, so they move and are copied with it. Training neither
reads nor writes the file.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...files import held, read_json, unlinked, write_whole
from ...settings import shown

NAME = "labels.json"
TRASH = ".trash"  # a folder of deleted runs below that of the runs, which no list looks into
LOCK = ".labels.lock"  # apart from the lock of training: a run that is trained can be labelled
PATIENCE = 5.0  # seconds to wait for another change
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
        >>> labels = Labels.change(Path("runs/text-mlstm-1"), {"title": "Our baseline"})
        >>> Labels.change(Path("runs/text-mlstm-1"), {"tags": ["paper"]}).title
        'Our baseline'
        >>> (Path("runs/text-mlstm-1") / NAME).unlink()
    """

    title: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    archived: bool = False

    @classmethod
    def checked(cls, given: Any) -> "Labels":
        """The labels in a JSON object; `BadInput` says what is wrong with it."""
        if not isinstance(given, dict) or not given.keys() <= {*FIELDS}:
            raise BadInput(f"labels are {', '.join(FIELDS)}; got {shown(given)}")
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
        """The labels of a run folder, as lists show them: none if they cannot be read."""
        try:
            return cls._of(_kept(folder / NAME))
        except (OSError, ValueError):
            return cls()

    @classmethod
    def change(cls, folder: Path, given: Any) -> "Labels":
        """Change the given labels of a run folder and return all of them.

        Labels that are not given stay, and so do fields of the file that this version does not
        know. A file that cannot be read is refused: it may hold what somebody wrote. The new file
        is written atomically, while no other change can read or write it.
        """
        new = cls.checked(given)
        path = unlinked(folder, folder / NAME)
        busy = f"the labels of {folder} are being changed by another process; try again"
        with held(folder / LOCK, busy, PATIENCE):
            try:
                kept = _kept(path)
                changes = {name: getattr(new, name) for name in given}
                labels = dataclasses.replace(cls._of(kept), **changes)
                data = _as_json({**kept, **dataclasses.asdict(labels)})
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise BadInput(
                    f"{path} cannot be read: {reason}; mend the file, or delete it and label again"
                ) from None
            if len(data) > LARGEST:
                raise BadInput(f"{path} would have more than {LARGEST >> 10} KB; shorten the note")
            write_whole(path, data)
        return labels

    @classmethod
    def _of(cls, kept: dict[str, Any]) -> "Labels":
        return cls.checked({name: value for name, value in kept.items() if name in FIELDS})


FIELDS = tuple(field.name for field in dataclasses.fields(Labels))


def _kept(path: Path) -> dict[str, Any]:
    """The content of a file of labels, with fields of other versions; empty without a file."""
    try:
        kept = read_json(path, LARGEST, links=False)
    except FileNotFoundError:
        return {}
    if not isinstance(kept, dict):
        raise BadInput(f"it must hold a JSON object, got {shown(kept)}")
    return kept


def _as_json(value: Any) -> bytes:
    try:
        words = json.dumps(value, ensure_ascii=False, indent=2).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, in a field of another version
        words = json.dumps(value, indent=2).encode()
    except RecursionError:  # the writer needs more frames than the reader
        raise BadInput("it is nested too deeply") from None
    return words + b"\n"


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
