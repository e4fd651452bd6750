"""Data sets that are generated: number words, dates, programs, additions. No download."""
