"""The network of a configuration: its parts, how they are put together, and its size."""
