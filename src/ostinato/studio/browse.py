"""The files that a page may choose from: those below one folder, and nothing else.

Hidden files, links and what is neither a file nor a folder are left out, and cannot be asked for by
name either. A folder of any size is answered quickly: few names are shown, and a part of a name
finds the others.
"""

import os
from pathlib import Path
from typing import Any

from .folder import NoRun, inside, is_text

SHOWN = 300  # names of one folder
SCANNED = 200_000  # names that are looked at


class NoFile(NoRun):
    """There is no such file or folder."""


class Files:
    """The files below a folder.

    Example:
        >>> Files(Path("runs")).listing("")["folders"]  # with runs/text-mlstm-1
        ['text-mlstm-1']
    """

    def __init__(self, path: Path):
        self.path = Path(os.path.realpath(path))

    def listing(self, name: str, match: str = "") -> dict[str, Any]:
        """The folders and files of a folder, `""` for the first one.

        Args:
            name: the folder, relative to the first one.
            match: a part of the names to show, in any case.
        """
        folder = self._find(name) if name else self.path
        if folder is None or not os.path.isdir(folder):
            raise NoFile(f"there is no folder {name:.200} here")
        folders, files, more = self._scan(folder, match.casefold())
        left_out = max(0, len(folders) - SHOWN) + max(0, len(files) - SHOWN)
        return {
            "root": str(self.path),
            "folder": name,
            "folders": folders[:SHOWN],
            "files": [one for file in files[:SHOWN] if (one := self._about(folder / file))],
            "left_out": left_out,
            "more": more,
        }

    def find(self, name: str) -> Path:
        """A regular file; `NoFile` if there is none, or if it is hidden or elsewhere."""
        path = self._find(name)
        if path is None or not os.path.isfile(path):
            raise NoFile(f"there is no file {name:.200} here")
        return path

    def given(self, path: Path) -> str:
        """A path as it is given to `ostinato train`: short where it is below the working folder."""
        here = os.path.realpath(os.curdir)
        below = str(path).startswith(here.rstrip(os.sep) + os.sep)
        short = os.path.relpath(path, here) if below else str(path)
        return f"./{short}" if short.startswith("-") else short

    def _find(self, name: str) -> Path | None:
        hidden = any(part.startswith(".") for part in Path(name).parts)
        return None if hidden else inside(self.path, name)

    def _scan(self, folder: Path, match: str) -> tuple[list[str], list[str], bool]:
        """The names of folders and of files, and whether there are still more."""
        folders: list[str] = []
        files: list[str] = []
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number == SCANNED:
                    return sorted(folders), sorted(files), True
                if entry.name.startswith(".") or match not in entry.name.casefold():
                    continue
                if not is_text(entry.name) or entry.is_symlink():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
        return sorted(folders), sorted(files), False

    def _about(self, path: Path) -> dict[str, Any] | None:
        try:
            status = path.lstat()
        except OSError:  # it has just vanished
            return None
        about = {"name": path.name, "bytes": status.st_size, "changed": status.st_mtime}
        return {**about, "given": self.given(path)}
