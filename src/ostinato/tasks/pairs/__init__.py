"""Tasks that write a sequence: translation, execution of programs, captions of pictures."""
