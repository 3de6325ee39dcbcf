import torch
from fixtures import bank_of_mlps, doubled_line, generator

from batchensemble.training.feed import Feed, adam_of, plan_and_engine
from batchensemble.training.loop import Training
from batchensemble.training.losses import GaussianNLL


def parts(n_networks=3):
    return {
        "rows": [torch.arange(50)] * n_networks,
        "generators": [*map(generator, range(n_networks))],
    }


def test_what_fits_into_memory_is_planned_once_for_all_epochs():
    bank, training = bank_of_mlps(), Training(epochs=2, batch_size=16)
    adam = adam_of(bank, training)
    feed = Feed(bank, GaussianNLL(), doubled_line(), training, adam, *parts().values(), None)
    assert list(feed.epoch(0)) == list(feed.epoch(1))
    ((plan, _),) = feed.epoch(0)
    assert feed.multiplications == plan.multiplications


def test_a_plan_has_the_steps_of_an_epoch_and_its_engine_runs_them():
    bank, training = bank_of_mlps(), Training(epochs=2, batch_size=16)
    before = bank.theta.clone()
    plan, engine = plan_and_engine(bank, GaussianNLL(), doubled_line(), training, **parts())
    losses = torch.cat([engine.run(steps) for steps in plan.epoch([True, False, True])])
    assert len(losses) == plan.n_steps == 4  # 50 rows in batches of 16
    moved = (bank.theta != before).any(dim=1)
    assert moved.tolist() == [True, False, True]
