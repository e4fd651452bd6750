"""Stand-in."""

from typing import Any

from .table import Table


def is_frame(given: Any) -> bool:
    return hasattr(given, "__arrow_c_stream__")


def table_of_frame(frame: Any, text: tuple[str, ...] = ()) -> Table:
    import numpy as np
    import pyarrow

    from .table import _add

    content = pyarrow.table(frame)
    names = [str(x) for x in content.column_names]
    table = Table("the table", names, {}, {}, {}, np.arange(content.num_rows))
    for name, column in zip(names, content.columns, strict=True):
        _add(table, name, column, text)
    return table
