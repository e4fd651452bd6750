"""Generated cases for `scripts/fuzz.py`, one area per file.

An area is a function of a `Case`: it draws what to do from `case.chance`, does it, and returns
`ACCEPTED` or `REFUSED`, or raises `Failed` with one line. To add one, list it in `areas.py`. Odd
values that every area draws from are in `values.py`.
"""
