"""What a task may give as a batch, and what is refused in one line before it is computed with."""

import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.losses import SquaredError
from ostinato.tasks.batch_checks import checked_batch

T, B = 4, 3
X, Y, W = np.ones((T, B, 2), np.float32), np.zeros((T, B, 1), np.float32), np.ones((T, B))
GOOD = Batch(X, Y, W)
NUMBERS, SIDE_BY_SIDE = "batch 7 must be arrays of numbers", "must have time first and sequences"
WHOLE = "the lengths of batch 7 must be 3 whole numbers from 0 to 4"
REFUSED = {
    "objects": ({"inputs": X.astype(object)}, f"the inputs of {NUMBERS}; got one of object"),
    "texts": ({"inputs": X.astype(str)}, f"the inputs of {NUMBERS}; got one of <U"),
    "dates": ({"targets": Y.astype(int).astype("M8[s]")}, f"the targets of {NUMBERS}; got one"),
    "wide": ({"inputs": X.astype(np.longdouble)}, f"{NUMBERS}; got one of float128"),
    "lists": ({"inputs": X.tolist()}, rf"{NUMBERS}; got \[\["),
    "ragged": ({"inputs": [[1.0], [1.0, 2.0]]}, f"{NUMBERS}; .*: pad what is ragged, and give its"),
    "weights in a list": ({"weights": W.tolist()}, f"the weights of {NUMBERS}"),
    "nothing": ({"inputs": None}, f"the inputs of {NUMBERS}; got None"),
    "no targets": ({"targets": None}, f"the targets of {NUMBERS}; got None"),
    "no weights": ({"weights": None}, f"the weights of {NUMBERS}; got None"),
    "a word": ({"inputs": "abc"}, f"the inputs of {NUMBERS}; got 'abc'"),
    "a mask": ({"inputs": np.ma.masked_array(X, X > 0)}, "without a mask; give what is masked a"),
    "one number": ({"inputs": np.float32(3)}, f"the inputs of {NUMBERS}"),
    "no sequences": ({"inputs": X[:, 0, 0]}, rf"the inputs of batch 7 {SIDE_BY_SIDE}.*\(4,\)"),
    "other inputs": ({"inputs": {"a": X, "b": X[:, :2]}}, rf"{SIDE_BY_SIDE}.*weights, 3; .*\(4, 2"),
    "other targets": ({"targets": Y[:, :2]}, f"the targets of batch 7 {SIDE_BY_SIDE}"),
    "other resets": ({"resets": np.zeros((4, 2), bool)}, f"the resets of batch 7 {SIDE_BY_SIDE}"),
    "too long": ({"lengths": np.array([1, 2, 5])}, f"{WHOLE}, one for each sequence; got 5"),
    "negative": ({"lengths": np.array([1, -2, 4])}, f"{WHOLE}, one for each sequence; got -2"),
    "halves": ({"lengths": np.array([1.5, 2, 4])}, f"{WHOLE}.* as an array of integers"),
    "a list of lengths": ({"lengths": [1, 2, 3]}, f"{WHOLE}.* as an array of integers"),
    "too few": ({"lengths": np.array([1, 2])}, rf"{WHOLE}.*; got an array of shape \(2,\)"),
    "first of each": ({"first": np.array([True, False])}, "first of batch 7 must be true or false"),
    "a first word": ({"first": "yes"}, "first of batch 7 must be true or false; got 'yes'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_batch_of_numbers_is_refused_in_one_line(name):
    changes, words = REFUSED[name]
    with pytest.raises(BadInput, match=words) as error:
        checked_batch("batch 7", GOOD._replace(**changes))
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_arrays_of_numbers_are_let_through():
    for dtype in (np.float16, np.float64, ">f4", np.int8, np.uint64, bool, np.complex128):
        batch = GOOD._replace(inputs=X.astype(dtype))
        assert checked_batch("batch 7", batch) is batch
    for changes in (
        {"inputs": {"a": X, "b": (X[:1], X)}},
        {"targets": Y[:1]},
        {"lengths": np.array([0, 4, 2]), "resets": W > 0},
        {"first": None},
        {"first": np.bool_(False)},
    ):
        batch = GOOD._replace(**changes)
        assert checked_batch("batch 7", batch) is batch


def test_complex_targets_have_no_squared_error():
    with pytest.raises(BadInput, match="needs real outputs and targets, got float32 and complex64"):
        SquaredError().at(Y, Y.astype(np.complex64))
