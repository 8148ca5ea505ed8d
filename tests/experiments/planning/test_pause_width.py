from ntpcompanion.experiments.planning import pause_width
from tests.experiments.cases import small_run

RIGHT = {"width": 16, "layers": 3, "prefix_length": 6, "most_pauses": 8, "sequences": 20, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(pause_width, RIGHT)


def test_pauses_add_one_row_and_a_vector_to_each_layer(found):
    assert found.rows == 1
    assert found.vectors == tuple((7 + pauses,) * 3 for pauses in range(9))  # with CLS
    assert found.single_error < 1e-4
