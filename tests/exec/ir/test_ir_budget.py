"""Limits hold in all, are checked before anything exists, and name their flags."""

from __future__ import annotations

import threading

import pytest

from exec.budget import FLAGS, NO_LIMITS, Budget, Limits, bytes_text, default_memory_bytes, element_count
from exec.errors import BudgetExceeded


def test_bytes_alive_come_back_and_bytes_produced_do_not() -> None:
    budget = Budget(Limits(bytes_alive=100, bytes_produced=250))
    for _ in range(2):
        size = budget.array((5, 5), 4, "node 'a'")
        assert size == 100
        assert not budget.would_fit(1)
        budget.free(size)
    assert budget.would_fit(50)
    assert not budget.would_fit(51)
    with pytest.raises(BudgetExceeded) as caught:
        budget.array((60,), 1, "node 'b'")
    assert FLAGS["bytes_produced"] in caught.value.hint
    assert budget.peak_bytes_alive == 100


def test_an_array_no_machine_could_hold_is_refused_by_its_shape() -> None:
    budget = Budget(Limits(bytes_alive=1 << 30))
    with pytest.raises(BudgetExceeded) as caught:
        budget.array((1 << 40, 1 << 40), 4, "node 'Expand_1'")
    assert caught.value.where == "node 'Expand_1'"
    assert "the limit is 1 GiB" in caught.value.why
    assert caught.value.hint == "`--max-memory` raises it"
    assert budget.bytes_alive == 0


@pytest.mark.parametrize(
    ("name", "spend"),
    [
        ("multiply_adds", lambda b: b.work(6, "node")),
        ("loop_steps", lambda b: b.step("node", 6)),
        ("nodes", lambda b: b.expand(6, "node")),
    ],
)
def test_work_adds_up_to_its_limit(name: str, spend: object) -> None:
    budget = Budget(Limits(**{name: 10}))
    spend(budget)  # type: ignore[operator]
    with pytest.raises(BudgetExceeded) as caught:
        spend(budget)  # type: ignore[operator]
    assert "it would be 12, the limit is 10" in caught.value.why
    assert FLAGS[name] in caught.value.hint


def test_depth_is_given_back() -> None:
    budget = Budget(Limits(depth=2))
    for _ in range(3):
        with budget.nested("a"), budget.nested("b"):
            assert budget.depth == 2
    with budget.nested("a"), budget.nested("b"), pytest.raises(BudgetExceeded, match="nesting"), budget.nested("c"):
        pass
    assert budget.depth == 0


def spin(budget: Budget) -> None:
    while True:
        budget.step("node 'loop'")


def test_time_is_a_limit_too() -> None:
    budget = Budget(Limits(seconds=0.0))
    with pytest.raises(BudgetExceeded) as caught:
        spin(budget)
    assert "--max-seconds" in caught.value.hint


def test_without_limits_nothing_is_refused() -> None:
    budget = Budget(NO_LIMITS)
    budget.array((1 << 50, 1 << 50), 8, "x")
    budget.work(10**30, "x")
    budget.step("x", 10**9)
    assert budget.would_fit(1 << 80)


def test_every_limit_has_a_flag() -> None:
    assert set(FLAGS) == set(Limits.__dataclass_fields__)
    assert len(set(FLAGS.values())) == len(FLAGS)


def test_threads_may_share_one() -> None:
    budget = Budget(NO_LIMITS)

    def work() -> None:
        for _ in range(2000):
            budget.allocate(3, "x")
            budget.free(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.bytes_produced, budget.bytes_alive) == (24_000, 16_000)


def test_products_of_dims_do_not_wrap_around() -> None:
    assert element_count([1 << 62, 4]) == 1 << 64
    assert element_count([]) == 1


def test_sizes_are_written_for_people() -> None:
    assert [bytes_text(n) for n in (0, 1023, 1024, 1536, 40 << 30, 1 << 60)] == [
        "0 bytes",
        "1023 bytes",
        "1 KiB",
        "1.5 KiB",
        "40 GiB",
        "1024 PiB",
    ]
    assert default_memory_bytes() >= 1 << 30
