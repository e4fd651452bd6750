"""Words in place of the paths of weights, for readers that need no network."""

import re


def plain_name(path: str) -> str:
    """A path in words, without the network and the wrappers around a cell.

    Example:
        >>> plain_name(".cell.forget gate"), plain_name(".cell.layers[0].cell.R[1]")
        ('forget gate', 'layer 1, R, block 2')
    """
    words = re.sub(r"\.cell(?=[. \[]|$)", "", path)
    words = re.sub(r"\.layers\[(\d+)\]", lambda found: f", layer {int(found[1]) + 1}", words)
    words = re.sub(r"\.(forward|backward)\b", r", \1", words)
    words = re.sub(r"\[(\d+)\]$", lambda found: f", block {int(found[1]) + 1}", words)
    words = re.sub(r" (tanh|sigmoid|relu) (\d+)$", _numbered, words)
    words = re.sub(r"\.(?=\w)", ", ", words)
    return words.strip(" ,")


def _numbered(found: re.Match) -> str:
    return f", {found[1]} {int(found[2]) + 1}"
