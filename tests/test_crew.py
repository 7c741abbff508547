"""Several processes that learn as one: the same weights as one process, a whole record, and a run that goes on."""

import os
import subprocess
import sys
from pathlib import Path

import torch

import paddock
from paddock.learn.crew import join
from paddock.learn.ppo import Ppo
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.folder import RunFolder
from paddock.runs.telemetry_reader import TelemetryReader

TASK, WORLDS = "cartpole-swingup", 8
CONFIG = PpoConfig(horizon=8, epochs=2, minibatches=1, hidden=(16,), learn_threads=1)
"""One minibatch, because several are drawn from each process's own worlds."""


def learned(out: Path) -> None:
    """Learn with this process's share of the worlds; the first of them writes what it came to."""
    crew = join()
    share = WORLDS // crew.size
    env = paddock.make(TASK, num_worlds=share, seed=3, first_world=crew.rank * share)
    ppo = Ppo(env, CONFIG, seed=3, crew=crew)
    for _ in range(3):
        ppo.update(env)
    weights = dict(ppo.policy.state_dict())
    weights["rate"] = torch.tensor(ppo.learning_rate)
    everyone = crew.gather(weights)
    for other in everyone[1:]:
        assert all(torch.equal(value, other[name]) for name, value in weights.items())
    if everyone:
        from safetensors.torch import save_file

        save_file({name: value.contiguous() for name, value in weights.items()}, out)


def torchrun(*command: str, processes: int = 2) -> str:
    """The output of a command run by several processes, as PyTorch's launcher starts them."""
    launcher = ["torch.distributed.run", "--nproc-per-node", str(processes), "--master-port", "0", "--rdzv-backend", "c10d"]
    launcher += ["--rdzv-endpoint", "localhost:0"]
    done = subprocess.run(
        [sys.executable, "-m", *launcher, *command],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    said = torchrun(__file__, str(tmp_path / "two"))
    assert said.startswith("exit code 0"), said
    learned(tmp_path / "one")
    one, two = load_file(tmp_path / "one"), load_file(tmp_path / "two")
    assert one["policy_norm.count"] == two["policy_norm.count"] == 3 * CONFIG.horizon * WORLDS
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, rtol=1e-4, atol=1e-6, msg=name)


def test_a_run_of_two_processes_is_one_record_and_goes_on(tmp_path: Path) -> None:
    train = ["-m", "paddock", "train", TASK, "--preset", "debug", "--num-worlds", "4", "--steps", "2048", "--ppo.minibatches", "2"]
    said = torchrun(*train, "--runs-dir", str(tmp_path), "--evaluate-episodes", "2", "--record-every", "0")
    assert said.startswith("exit code 0"), said
    (path,) = tmp_path.iterdir()
    run = RunFolder(path)
    card = run.card()
    assert (card.setup.processes, card.setup.num_worlds, card.progress.status) == (2, 4, "finished")
    assert card.progress.env_steps % 8 == 0 and card.progress.env_steps >= 2048
    with TelemetryReader(run.telemetry) as reader:
        assert {*reader.episodes().world.tolist()} == set(range(8))

    alone = subprocess.run(
        [sys.executable, "-m", "paddock", "resume", path.name, "--steps", "512", "--runs-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert alone.returncode == 2 and "of 2 processes that learned together, and here are 1" in alone.stderr
    said = torchrun("-m", "paddock", "resume", path.name, "--steps", "512", "--runs-dir", str(tmp_path))
    assert said.startswith("exit code 0"), said
    assert run.card().progress.env_steps >= card.progress.env_steps + 512


if __name__ == "__main__":
    learned(Path(sys.argv[1]))
