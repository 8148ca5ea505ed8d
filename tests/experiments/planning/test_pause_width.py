from ntpcompanion.experiments.planning.pause_width import Plan, Result, run

RIGHT = {"width": 4, "layers": 2, "prefix_length": 3, "most_pauses": 3, "sequences": 2, "seed": 0}


def test_pauses_add_one_row_and_a_vector_to_each_layer():
    found = run(Plan.from_json(RIGHT))
    assert Result.from_json(found.to_json()) == found == run(Plan.from_json(RIGHT))
    assert found.rows == 1
    assert found.vectors == tuple((4 + pauses, 4 + pauses) for pauses in range(4))  # with CLS
    assert found.single_error < 1e-5
