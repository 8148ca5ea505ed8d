from tests.benchmarks.bench_workflow import best_of_the_others


def test_no_round_has_a_say_in_what_it_is_compared_with():
    assert best_of_the_others([[2, 1, 3], [2, 1, 1], [3, 1, 2]]) == [1, 1, 1]
    # of two equal columns each round would choose the one that was lucky in it
    lucky = [[1, 2], [2, 1], [1, 2], [2, 1]]
    assert best_of_the_others(lucky) == [1, 0, 1, 0]
