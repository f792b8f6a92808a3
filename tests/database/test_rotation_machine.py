"""Rotations in any order, with kills, on Django's databases."""

from collections.abc import Callable
from pathlib import Path

import pytest

from outkey.administration.engine.application import Application
from rotation_machine import Host, run_machine

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("database")]


def test_rotations_in_any_order_survive_kills_at_any_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.django import wiring

    def open_with(build: Callable[..., Application]) -> Application:
        monkeypatch.setattr(wiring, "build_application", build)
        return wiring.install(tmp_path)

    run_machine(Host(open_with), examples=10, steps=25)
