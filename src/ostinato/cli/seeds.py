"""The option --seed."""

from ..errors import BadInput

MAX = 2**32 - 1


def check_seed(seed: int) -> None:
    """Refuse a seed of more than 32 bits, which JAX would truncate."""
    if not 0 <= seed <= MAX:
        raise BadInput(f"--seed must be from 0 to {MAX}, got {seed}")
