"""Tasks on numbers over time: series to forecast, labelled sequences, known systems."""
