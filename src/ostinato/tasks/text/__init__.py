"""Tasks on texts: the next character, a tag per word, a label per text."""
