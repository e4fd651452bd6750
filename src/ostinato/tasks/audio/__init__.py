"""An audio effect, learned from a recording before it and one after it."""
