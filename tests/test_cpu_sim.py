"""The CPU sim against plain MuJoCo: exact where the contract says exact."""

import os
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from models import BOXES, OWN_TASKS, boxes, compiled, everyone, some
from paddock import Robot
from paddock.contracts import Sim
from paddock.cores import usable_cores
from paddock.errors import BrokenModel, PaddockError, UnknownName
from paddock.sims import make_sim
from paddock.sims.cpu import CpuSim
from paddock.sims.layout import layout_of
from paddock.sims.model import ARENA_MIN, compile_text, model_text
from paddock.tasks.finding import find_task

SUBSTEPS = 4
CONTROLS = torch.rand(60, 64, 1, generator=torch.Generator().manual_seed(3)) * 2 - 1


def run(sim: CpuSim, first: int = 0, last: int = 60) -> torch.Tensor:
    """Full engine states after each control step; (steps, n, nstate) float64."""
    rows = []
    for step in range(first, last):
        sim.step(CONTROLS[step, : sim.num_worlds], SUBSTEPS)
        rows.append(sim.save()["rows"])
    return torch.stack(rows)


def test_equals_one_world_at_a_time() -> None:
    sim, model = boxes(5), compiled(BOXES)
    for step in range(60):
        sim.step(CONTROLS[step, :5], SUBSTEPS)
    for world in range(5):
        data = mujoco.MjData(model)
        for step in range(60):
            data.ctrl[:] = CONTROLS[step, world].double().numpy()
            for _ in range(SUBSTEPS):
                mujoco.mj_step(model, data)
        mujoco.mj_step1(model, data)
        _, ours = sim.copy_of(world)
        np.testing.assert_array_equal(ours.qpos, data.qpos)
        np.testing.assert_array_equal(ours.qvel, data.qvel)
        fresh = model.sensor_needstage < int(mujoco.mjtStage.mjSTAGE_ACC)
        columns = np.repeat(fresh, model.sensor_dim)
        np.testing.assert_array_equal(sim.sensordata[world].numpy()[columns], data.sensordata.astype(np.float32)[columns])


def test_threads_and_neighbours_change_nothing() -> None:
    whole = run(boxes(64, num_threads=2))
    assert torch.equal(run(boxes(64, num_threads=1)), whole)
    assert torch.equal(run(boxes(7, num_threads=2)), whole[:, :7])


def test_worlds_are_simulations_of_their_own() -> None:
    sim = boxes(3)
    ctrl = torch.tensor([[1.0], [-1.0], [1.0]])
    for _ in range(20):
        sim.step(ctrl, SUBSTEPS)
    assert not torch.equal(sim.qpos[0], sim.qpos[1])
    assert torch.equal(sim.qpos[0], sim.qpos[2])


def test_engine_stage_lags_like_mj_step() -> None:
    sim = CpuSim(compiled(BOXES), 1, stage="engine", fields=("xpos",))
    data = mujoco.MjData(sim.model)
    for _ in range(10):
        sim.step(torch.ones(1, 1), SUBSTEPS)
        data.ctrl[:] = 1.0
        mujoco.mj_step(sim.model, data, SUBSTEPS)
    np.testing.assert_array_equal(sim.fields["xpos"][0].numpy(), data.xpos)
    assert sim.fields["xpos"][0, 3, 2] != sim.copy_of(0)[1].qpos[10]


def test_reset_touches_only_the_chosen_worlds() -> None:
    sim = boxes(3)
    run(sim, 0, 10)
    before = sim.save()["rows"]
    sim.reset(some(False, True, False))
    sim.write("qpos", torch.full((1, sim.model.nq), 0.5), some(False, True, False))
    sim.forward(some(False, True, False))
    after = sim.save()["rows"]
    assert torch.equal(after[[0, 2]], before[[0, 2]])
    assert (sim.qpos[1] == 0.5).all() and (sim.qvel[1] == 0).all() and sim.ctrl[1] == 0
    untouched, touched = boxes(3), run(sim, 10, 20)
    run(untouched, 0, 10)
    assert torch.equal(run(untouched, 10, 20)[:, [0, 2]], touched[:, [0, 2]])


def test_a_diverging_world_is_contained() -> None:
    sim, lone = boxes(4), boxes(1)
    run(lone, 0, 20)
    run(sim, 0, 10)
    sim.write("qvel", torch.full((1, sim.model.nv), 1e12), some(False, False, True, False))
    failed = []
    for step in range(10, 20):
        sim.step(CONTROLS[step, :4], SUBSTEPS)
        failed.append(sim.failed.tolist())
        sim.reset(some(*sim.failed.tolist()))
    assert failed[0] == [False, False, True, False]
    assert not any(any(row) for row in failed[1:])
    assert torch.equal(sim.save()["rows"][0], lone.save()["rows"][0])


@pytest.mark.parametrize("memory", ["16K", "32K", "64K"])
def test_an_arena_too_small_for_a_pile_fails_that_world_alone(memory: str) -> None:
    """The engine raises where it cannot go on, and only warns where it leaves contacts out."""
    box = '<body pos="{x} 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    apart = "".join(box.format(x=3 * i) for i in range(6))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><size memory="{memory}"/><worldbody><geom type="plane" size="5 5 .1"/>{apart}</worldbody></mujoco>'
    )
    sim = CpuSim(model, 2)
    pile = torch.tensor([[0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0] for _ in range(6)]).reshape(1, -1)
    sim.write("qpos", pile, some(True, False))
    sim.step(torch.zeros(2, 0), 1)
    assert sim.failed.tolist() == [True, False]


def test_save_and_load_go_on_bit_for_bit() -> None:
    sim = boxes(8)
    run(sim, 0, 30)
    saved = sim.save()
    on = run(sim, 30, 60)
    other = boxes(8, num_threads=1)
    run(other, 0, 5)
    other.load(saved)
    assert torch.equal(other.sensordata, saved["sensordata"])
    assert torch.equal(run(other, 30, 60), on)


def test_dropping_the_warm_start_is_noticed() -> None:
    sim = boxes(8)
    run(sim, 0, 30)
    saved = sim.save()
    on = run(sim, 30, 60)
    size = mujoco.mj_stateSize(sim.model, mujoco.mjtState.mjSTATE_WARMSTART)
    assert size == sim.model.nv
    warm = sim._batch.bind("qacc_warmstart")
    sim.load(saved)
    warm[:] = 0.0
    assert not torch.equal(run(sim, 30, 60), on)


def test_model_fields_differ_by_world_and_physics_feels_them() -> None:
    sim = boxes(2)
    sim.expand("opt.gravity")
    sim.write_model("opt.gravity", torch.tensor([[0.0, 0.0, -9.81], [0.0, 0.0, -1.62]], dtype=torch.float64), everyone(sim))
    sim.forward(everyone(sim))
    start = sim.qpos[:, 10].clone()
    for _ in range(10):
        sim.step(torch.zeros(2, 1), SUBSTEPS)
    fallen = start - sim.qpos[:, 10]
    torch.testing.assert_close(fallen[0] / fallen[1], torch.tensor(9.81 / 1.62), rtol=1e-3, atol=0)


def test_set_const_follows_a_mass_and_survives_save_and_load() -> None:
    def heavy() -> CpuSim:
        sim = boxes(2)
        sim.expand("body_mass")
        return sim

    sim = heavy()
    mass = torch.from_numpy(np.array(sim.model.body_mass)).repeat(2, 1)
    mass[1, 1] *= 5
    sim.write_model("body_mass", mass, everyone(sim))
    sim.set_const(everyone(sim))
    sim.forward(everyone(sim))
    subtree = [sim.copy_of(world)[0].body_subtreemass[1] for world in range(2)]
    assert subtree[1] == pytest.approx(subtree[0] + 4.0)
    run(sim, 0, 20)
    saved, on = sim.save(), run(sim, 20, 40)
    other = heavy()
    other.set_const(everyone(other))
    other.load(saved)
    assert torch.equal(run(other, 20, 40), on)


def test_the_arena_is_sized_by_use() -> None:
    """A pile of boxes, with a keyframe that spreads them out: the worst of both counts."""
    box = '<body pos="0 0 {z}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    boxes = "".join(box.format(z=0.1 + 0.19 * i) for i in range(12))
    apart = " ".join(f"{3 * i} 0 1 1 0 0 0" for i in range(12))
    pile = f'<mujoco><worldbody><geom type="plane" size="9 9 .1"/>{boxes}</worldbody>'
    alone = compiled(f"{pile}</mujoco>")
    model = compiled(f'{pile}<keyframe><key name="home" qpos="{apart}"/></keyframe></mujoco>')
    assert model.narena >= alone.narena > ARENA_MIN
    assert compiled(BOXES).narena == ARENA_MIN
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    assert data.maxuse_arena < model.narena / 2


@pytest.mark.parametrize("name", OWN_TASKS)
def test_the_saved_text_compiles_to_the_same_model(name: str) -> None:
    spec = find_task(name).spec()
    direct, saved = spec.compile(), compile_text(model_text(spec, lean=False))
    fields = [field for field in dir(direct) if isinstance(getattr(direct, field), np.ndarray) and not field.startswith("_")]
    for field in fields:
        np.testing.assert_array_equal(getattr(direct, field), getattr(saved, field), err_msg=field)


@pytest.mark.parametrize("name", OWN_TASKS)
def test_a_lean_model_moves_the_same_to_the_last_bit(name: str) -> None:
    task = find_task(name)
    lean, whole = (CpuSim(compile_text(model_text(task.spec(), lean=v)), 8) for v in (True, False))
    if not name.startswith("gym-"):
        assert lean.model.ngeom < whole.model.ngeom
    assert (lean.model.opt.disableflags != whole.model.opt.disableflags) == (lean.model.ntree == 1)
    rng = torch.Generator().manual_seed(0)
    for _ in range(200):
        ctrl = torch.rand(8, lean.model.nu, generator=rng) * 4 - 2
        lean.step(ctrl, 4)
        whole.step(ctrl, 4)
    assert torch.equal(lean.save()["rows"], whole.save()["rows"])


def test_islands_are_kept_where_there_could_be_several() -> None:
    assert compiled(BOXES).ntree == 2
    assert not compiled(BOXES).opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_ISLAND)


def test_meshes_beside_the_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "wedge.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    file = tmp_path / "wedge.xml"
    file.write_text(
        '<mujoco><compiler meshdir="parts"/><asset><mesh name="wedge" file="wedge.obj"/></asset><worldbody>'
        '<body><freejoint name="root"/><geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>'
    )
    model = compile_text(model_text(Robot(name="wedge", xml=file, joints=()).spec(), lean=True))
    assert model.nmesh == 1 and model.body_mass[1] == pytest.approx(1000 / 6, rel=1e-3)


def test_unknown_names_are_said() -> None:
    sim = boxes(1)
    with pytest.raises(UnknownName, match="Did you mean 'qpos'"):
        sim.write("qpso", torch.zeros(1, 1))
    with pytest.raises(UnknownName, match="Did you mean 'xpos'"):
        CpuSim(sim.model, 1, fields=("xposs",))
    with pytest.raises(PaddockError, match="mesh_vert"):
        sim.expand("mesh_vert")
    with pytest.raises(UnknownName, match="unknown sim 'cup'. Did you mean 'cpu'"):
        make_sim("cup", sim.model, 1)
    with pytest.raises(PaddockError, match="at least 1 world"):
        CpuSim(sim.model, 0)
    with pytest.raises(PaddockError, match="num_threads is -1"):
        CpuSim(sim.model, 1, num_threads=-1)
    with pytest.raises(UnknownName, match="expanded model field"):
        sim.write_model("body_mass", torch.zeros(1, 4), everyone(sim))


def test_a_broken_model_is_refused_in_mujocos_words() -> None:
    with pytest.raises(BrokenModel, match="MuJoCo cannot compile"):
        compile_text("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>")
    spec = mujoco.MjSpec.from_string('<mujoco><worldbody><body name="b"><freejoint/></body></worldbody></mujoco>')
    with pytest.raises(BrokenModel, match="mass and inertia"):
        model_text(spec, lean=False)


def test_it_is_a_sim() -> None:
    sim: Sim = boxes(1)
    assert sim.num_worlds == 1
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
    assert CpuSim(sim.model, 1).num_threads == 1


def test_layout_groups_only_what_lies_together() -> None:
    sim = boxes(1)
    layout = layout_of(sim.model, control_dt=0.016, device=sim.device)
    assert layout.sensors["pos"] == slice(2, 8)
    assert layout.sensors["joint_pos"] == slice(0, 1)
    assert layout.qpos["ball"] == slice(8, 15) and layout.qvel["ball"] == slice(7, 13)
    scattered = BOXES.replace('<touch name="touch" site="under"/>', '<touch name="pos/touch" site="under"/>')
    assert "pos" not in layout_of(compiled(scattered), control_dt=0.016, device=sim.device).sensors


def test_the_engine_does_not_read_the_clock() -> None:
    sim = boxes(2)
    data = mujoco.MjData(sim.model)
    mujoco.mj_step(sim.model, data)
    assert data.timer[int(mujoco.mjtTimer.mjTIMER_STEP)].number == 1
    assert data.timer[int(mujoco.mjtTimer.mjTIMER_STEP)].duration == 0.0
