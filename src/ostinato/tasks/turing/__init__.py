"""The five tasks of the neural Turing machine."""
