import base64
import io

import pandas as pd
import pytest

from ntpcompanion import plots


def test_the_csv_link_holds_the_data_with_all_digits():
    frame = pd.DataFrame({"t": [1, 2], "loss, nats": [0.1 + 0.2, 1e-17]})
    link = plots.csv_link(frame, "loss.csv")
    html = link._repr_html_()
    data = html.split("base64,")[1].split('"')[0]
    read = pd.read_csv(io.StringIO(base64.b64decode(data).decode()), dtype=str).astype(frame.dtypes)
    pd.testing.assert_frame_equal(read, frame, check_exact=True)
    assert html.startswith('<a class="csv" download="loss.csv" href="data:text/csv')
    assert html.endswith(">data as CSV (2 rows)</a>")
    assert repr(link) == "loss.csv: data as CSV (2 rows)"


def test_a_csv_link_needs_a_csv_name():
    with pytest.raises(
        ValueError, match=r"`filename` must end in .csv and name no folder, got 'loss'"
    ):
        plots.csv_link(pd.DataFrame(), "loss")
