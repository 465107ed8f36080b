"""What a host tells a starter arrives as it was sent, or not at all."""

from __future__ import annotations

from duckrow.engines.local.starters.order_message import (
    LONGEST_MESSAGE,
    fits,
    packed,
    packed_order,
    size_of,
    unpacked,
)
from tests.engines.starters.host import StarterHost


def test_orders_arrive_with_all_that_is_needed_to_start_them(host: StarterHost) -> None:
    sent = host.order(7, "echo \udcff ü", follows=5)._replace(
        extra_environment={b"CUDA_VISIBLE_DEVICES": b"0"}, gentle_environment={b"OMP_NUM_THREADS": b"1"}
    )
    data = packed_order(sent)
    assert data is not None
    recalls, environments, orders = unpacked(packed(3, {1: {b"A": b"\xff"}}, [data, data]))
    assert (recalls, environments) == (3, {1: {b"A": b"\xff"}})
    for order in orders:
        attempt = order.attempt
        assert (attempt.id, attempt.job, attempt.keeper) == (sent.attempt.id, sent.attempt.job, sent.attempt.keeper)
        assert (attempt.log, attempt.job_host_id) == (sent.attempt.log, 1)
        assert order[1:] == sent[1:]


def test_an_order_that_is_longer_than_a_message_is_not_packed(host: StarterHost) -> None:
    assert packed_order(host.order(1, "x" * LONGEST_MESSAGE)) is None
    assert packed_order(host.order(1, "x" * (LONGEST_MESSAGE // 2))) is not None


def test_variables_may_take_half_of_a_message() -> None:
    half = LONGEST_MESSAGE // 2
    variables = {b"A": b"x" * (half - 3), b"B": b"y"}
    assert size_of(variables) == half
    assert fits(variables)
    assert not fits({**variables, b"C": b""})
