"""The option --seed."""

from ..errors import BadInput

MOST = 2**32 - 1


def check_seed(seed: int) -> None:
    """Refuse what a random key of JAX cannot hold: it would be the same as a smaller seed."""
    if not 0 <= seed <= MOST:
        raise BadInput(f"--seed must be from 0 to {MOST}, got {seed}")
