"""Tests run in float64 unless they say otherwise."""

import jax

jax.config.update("jax_enable_x64", True)
