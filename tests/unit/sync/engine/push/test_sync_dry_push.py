"""A dry run of a push, which sends nothing, takes no longer than reading."""

from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts, RunState
from outkey.sync.engine.push.push import STEP
from unit.sync.engine.pull.test_sync_run import PUSH, Api, FakeSync, fake_sync, stored


def with_records(count: int) -> FakeSync:
    made = fake_sync(PUSH, Api(), method="PUT", path="/contacts/{number}")
    rows = [{"number": str(n), "name": f"Name {n}"} for n in range(count)]
    stored(made, *rows)
    return made


def test_a_dry_push_stores_a_checkpoint_for_many_records_and_notes_each() -> None:
    made = with_records(2 * STEP + 1)
    effects: list[Effect] = []
    steps = made.runner.run("contacts", "ada", dry_run=True, note=effects.append)
    *_, run = steps
    assert run.counts == Counts(updated=2 * STEP + 1)
    assert [effect.key for effect in effects[:2]] == ["1", "2"]
    assert len(effects) == 2 * STEP + 1
    # It begins, saves three checkpoints and ends.
    assert (run.state, run.generation, run.pages) == (RunState.DONE, 5, 3)
    assert made.world.transport.sent == []


def test_a_push_that_sends_still_stores_a_checkpoint_for_each_record() -> None:
    made = with_records(3)
    assert made.run().generation == 1 + 3 + 1
