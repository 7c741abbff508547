"""Rays of the GPU sim against those of the CPU: on a GPU where there is one, and otherwise its engine on the CPU."""

import torch

import paddock
from models import pole_task
from paddock import Robot
from paddock import terms as t
from test_gpu_sim import SIM
from test_rays import ROOM

HALL = ROOM.replace('<geom type="box" pos="3.1 0 0" size=".1 4 1"/>', '<geom type="box" pos="6.1 0 0" size=".1 4 1"/>').replace(
    '<body name="car">', '<geom type="plane" size="9 9 .1" pos="0 0 -1"/><body name="car">'
)
"""A room with a wall that is beyond the lidar's reach, and a floor."""


def test_rings_and_height_scans_read_the_same() -> None:
    """What is hit, what is too far and what meets nothing, between steps and right after a reset."""
    sensors = {
        "ring": t.Lidar(body="car", rays=12, max_range=5.0, elevations_deg=(-30.0, 2.0, 50.0)),
        "ground": t.HeightScan(body="car", size=(1.2, 0.8), spacing=0.4),
    }
    task = pole_task(
        robot=Robot(name="seer", xml=HALL, joints=("turn",)),
        scene=t.bare,
        observe={"joint_pos": t.joint_pos, "ring": t.Ranges(sensor="ring"), "ground": t.Ranges(sensor="ground", miss=0.0)},
        sensors=sensors,
        done={},
        episode_s=0.1,
    )
    ours, theirs = (paddock.make(task, num_worlds=2, seed=3, sim=sim) for sim in (SIM, "cpu"))
    for env in (ours, theirs):
        env.reset()
    for _ in range(7):
        found, wanted = (env.step(torch.tensor([[1.0], [-0.5]], device=env.device)) for env in (ours, theirs))
        ring = theirs.state.sensor("ring")
        assert (ring == -1).any() and (ring == 5).any() and ((ring > 0) & (ring < 5)).any()
        for name in sensors:
            torch.testing.assert_close(ours.state.sensor(name).cpu(), theirs.state.sensor(name), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(found.obs["policy"].cpu(), wanted.obs["policy"], rtol=1e-4, atol=1e-4)
        assert (found.obs["policy"][0] != found.obs["policy"][1]).any()
