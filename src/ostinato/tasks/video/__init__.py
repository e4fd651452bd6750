"""Tasks on films: draw the frames again, draw the next ones, describe them."""
