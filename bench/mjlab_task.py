# pyright: reportMissingImports=false
"""Paddock's walking task in mjlab's words: an environment of theirs from a model's text and the numbers of our task.

Runs in mjlab's package set, without Paddock. What mjlab has a term of its own for is that term; the rest are functions in the
style of its tasks, which read the model's sensors, the cheapest there is. Contacts and constraints have the room ours have.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from typing import Any

import mjlab
import mujoco
import numpy as np
import torch
from mjlab.actuator import BuiltinPositionActuatorCfg
from mjlab.entity import EntityArticulationInfoCfg, EntityCfg
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, mdp
from mjlab.envs.mdp import dr
from mjlab.envs.mdp.actions import JointPositionActionCfg
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.observation_manager import ObservationGroupCfg, ObservationTermCfg
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg
from mjlab.scene import SceneCfg
from mjlab.sim import MujocoCfg, SimulationCfg
from torch import Tensor

Settings = dict[str, Any]
INTEGRATORS = {int(mujoco.mjtIntegrator.mjINT_EULER): "euler", int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST): "implicitfast"}
CONES = {int(mujoco.mjtCone.mjCONE_PYRAMIDAL): "pyramidal", int(mujoco.mjtCone.mjCONE_ELLIPTIC): "elliptic"}
SOLVERS = {int(mujoco.mjtSolver.mjSOL_NEWTON): "newton", int(mujoco.mjtSolver.mjSOL_CG): "cg"}
JACOBIANS = {int(mujoco.mjtJacobian.mjJAC_AUTO): "auto", int(mujoco.mjtJacobian.mjJAC_SPARSE): "sparse"}
OUR_OWN = ("names", "paths", "text_data", "vis", "stat", "key_ctrl", "light_", "cam_", "name_")
"""Fields of a model that say what it is called and how it is drawn, or, with a keyframe's controls, what we do not use."""


def make_env(settings: Settings, num_worlds: int, *, device: str, draw_friction: str = "reset") -> ManagerBasedRlEnv:
    """`draw_friction` is `reset`, as ours does it, or `startup`, as mjlab's own tasks do: once for all episodes."""
    own = mujoco.MjModel.from_xml_string(settings["model"])
    cfg = ManagerBasedRlEnvCfg(
        seed=0,
        decimation=settings["substeps"],
        episode_length_s=settings["episode_s"],
        scale_rewards_by_dt=False,
        sim=_simulation(own, settings),
        scene=SceneCfg(num_envs=num_worlds, entities={"robot": _robot(own, settings["model"])}, spec_fn=_limit_targets(own)),
        actions={
            "joint_pos": JointPositionActionCfg(entity_name="robot", actuator_names=(".*",), scale=settings["action_scale"]),
        },
        commands={"velocity": _command(settings)},
        observations=_observations(),
        rewards=_rewards(settings),
        terminations={
            "time_out": TerminationTermCfg(func=mdp.time_out, time_out=True),
            "fell": TerminationTermCfg(func=mdp.bad_orientation, params={"limit_angle": math.radians(settings["tilt_deg"])}),
        },
        events=_events(settings, draw_friction),
    )
    return ManagerBasedRlEnv(cfg, device)


def differences(env: ManagerBasedRlEnv, settings: Settings) -> list[str]:
    """Fields of the model that mjlab steps which are not those of our text; sizes of names and pictures left out."""
    own, theirs = mujoco.MjModel.from_xml_string(settings["model"]), env.sim.mj_model
    options = [f"opt.{name}" for name in dir(own.opt) if not name.startswith("_") and not _equal(own.opt, theirs.opt, name)]
    return options + [name for name in dir(own) if not name.startswith(("_", *OUR_OWN)) and not _equal(own, theirs, name)]


def _equal(one: object, other: object, name: str) -> bool:
    mine, its = getattr(one, name), getattr(other, name)
    if not isinstance(mine, (int, float, np.ndarray)):
        return True
    return np.array_equal(mine, its)


def _robot(model: mujoco.MjModel, text: str) -> EntityCfg:
    """The whole text, floor included. Its servos are written down anew as mjlab's own, which it commands all in one write."""

    def spec() -> mujoco.MjSpec:
        found = mujoco.MjSpec.from_string(text)
        for listed in (found.actuators, found.keys):
            for element in list(listed):
                found.delete(element)
        return found

    home = model.key("home").qpos
    servos = tuple(
        BuiltinPositionActuatorCfg(
            target_names_expr=(model.joint(model.actuator_trnid[i, 0]).name,),
            stiffness=float(model.actuator_gainprm[i, 0]),
            damping=-float(model.actuator_biasprm[i, 2]),
            effort_limit=float(model.actuator_forcerange[i, 1]),
        )
        for i in range(model.nu)
    )
    joints = {model.joint(i).name: float(home[model.jnt_qposadr[i]]) for i in range(1, model.njnt)}
    return EntityCfg(
        spec_fn=spec,
        init_state=EntityCfg.InitialStateCfg(pos=tuple(home[:3].tolist()), rot=tuple(home[3:7].tolist()), joint_pos=joints),
        articulation=EntityArticulationInfoCfg(actuators=servos),
    )


def _limit_targets(model: mujoco.MjModel) -> Any:
    """mjlab lets targets leave the joints' ranges; our model does not."""

    def limit(spec: mujoco.MjSpec) -> None:
        for i in range(model.nu):
            servo = spec.actuator(f"robot/{model.joint(model.actuator_trnid[i, 0]).name}")
            servo.ctrllimited, servo.ctrlrange = mujoco.mjtLimited.mjLIMITED_TRUE, model.actuator_ctrlrange[i]

    return limit


def _simulation(model: mujoco.MjModel, settings: Settings) -> SimulationCfg:
    """mjlab takes no options from a text: said again."""
    opt = model.opt
    flags = [flag for flag in mujoco.mjtDisableBit.__members__.values() if opt.disableflags & int(flag.value)]
    contacts, constraints = settings["room"]
    return SimulationCfg(
        nconmax=contacts,
        njmax=constraints,
        mujoco=MujocoCfg(
            timestep=opt.timestep,
            integrator=INTEGRATORS[opt.integrator],
            cone=CONES[opt.cone],
            solver=SOLVERS[opt.solver],
            jacobian=JACOBIANS[opt.jacobian],
            impratio=opt.impratio,
            iterations=opt.iterations,
            tolerance=opt.tolerance,
            ls_iterations=opt.ls_iterations,
            ls_tolerance=opt.ls_tolerance,
            ccd_iterations=opt.ccd_iterations,
            gravity=tuple(opt.gravity.tolist()),
            disableflags=tuple(flag.name.removeprefix("mjDSBL_").lower() for flag in flags),
        ),
    )


def _command(settings: Settings) -> Any:
    """mjlab's own command. Its file is read by its path, because importing mjlab.tasks imports the trainers of all its tasks."""
    path = mjlab.MJLAB_SRC_PATH / "tasks" / "velocity" / "mdp" / "velocity_command.py"
    spec = importlib.util.spec_from_file_location("mjlab_velocity_command", path)
    assert spec is not None and spec.loader is not None
    found = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
    spec.loader.exec_module(found)
    x, y, yaw = zip(settings["command_low"], settings["command_high"], strict=True)
    kind = found.UniformVelocityCommandCfg
    period = (settings["command_every_s"],) * 2
    return kind(entity_name="robot", resampling_time_range=period, ranges=kind.Ranges(lin_vel_x=x, lin_vel_y=y, ang_vel_z=yaw))


def _observations() -> dict[str, ObservationGroupCfg]:
    """What ours sees, in the same order: the policy, and what only a critic is told."""
    sees = {
        "command": ObservationTermCfg(func=mdp.generated_commands, params={"command_name": "velocity"}),
        "gravity": ObservationTermCfg(func=mdp.projected_gravity_from_sensor, params={"sensor_name": "robot/up"}),
        "gyro": ObservationTermCfg(func=mdp.builtin_sensor, params={"sensor_name": "robot/gyro"}),
        "joint_pos": ObservationTermCfg(func=mdp.joint_pos_rel),
        "joint_vel": ObservationTermCfg(func=mdp.joint_vel_rel),
        "last_action": ObservationTermCfg(func=mdp.last_action),
    }
    told = {
        "base_vel": ObservationTermCfg(func=mdp.builtin_sensor, params={"sensor_name": "robot/base_vel"}),
        "height": ObservationTermCfg(func=height),
        "contact": ObservationTermCfg(func=foot_contact),
    }
    return {"policy": ObservationGroupCfg(terms=sees), "privileged": ObservationGroupCfg(terms=told)}


def _rewards(settings: Settings) -> dict[str, RewardTermCfg]:
    terms: dict[str, tuple[Any, dict[str, Any]]] = {
        "track": (track, {"margin": settings["margins"]["track"]}),
        "turn": (turn, {"margin": settings["margins"]["turn"]}),
        "upright": (upright, {}),
        "bounce": (bounce, {}),
        "wobble": (wobble, {}),
        "power": (power, {}),
        "action_rate": (mdp.action_rate_l2, {}),
    }
    weights = settings["weights"]
    assert set(weights) == set(terms), f"the task rewards {sorted(weights)}; known here: {sorted(terms)}."
    return {name: RewardTermCfg(func=func, weight=weights[name], params=params) for name, (func, params) in terms.items()}


def _events(settings: Settings, draw_friction: str) -> dict[str, EventTermCfg]:
    near, quick = (-settings["reset_joint"], settings["reset_joint"]), (-settings["reset_vel"], settings["reset_vel"])
    axes = ("x", "y", "z", "roll", "pitch", "yaw")
    return {
        "base": EventTermCfg(
            func=mdp.reset_root_state_uniform,
            mode="reset",
            params={"pose_range": {"yaw": (-math.pi, math.pi)}, "velocity_range": dict.fromkeys(axes, quick)},
        ),
        "joints": EventTermCfg(
            func=mdp.reset_joints_by_offset,
            mode="reset",
            params={"position_range": near, "velocity_range": quick, "asset_cfg": SceneEntityCfg("robot", joint_names=(".*",))},
        ),
        "friction": EventTermCfg(
            func=dr.geom_friction,
            mode=draw_friction,
            params={
                "ranges": tuple(settings["friction"]),
                "operation": "scale",
                "shared_random": True,
                "asset_cfg": SceneEntityCfg("robot", geom_names=(".*",)),
            },
        ),
    }


def sensed(env: ManagerBasedRlEnv, name: str) -> Tensor:
    return env.scene[f"robot/{name}"].data


def track(env: ManagerBasedRlEnv, margin: float) -> Tensor:
    error = env.command_manager.get_command("velocity")[:, :2] - sensed(env, "base_vel")[:, :2]
    return torch.exp(error.square().sum(1) * (-0.5 / margin**2))


def turn(env: ManagerBasedRlEnv, margin: float) -> Tensor:
    error = env.command_manager.get_command("velocity")[:, 2] - sensed(env, "gyro")[:, 2]
    return torch.exp(error.square() * (-0.5 / margin**2))


def upright(env: ManagerBasedRlEnv) -> Tensor:
    return sensed(env, "up")[:, 2].clamp(min=0.0)


def bounce(env: ManagerBasedRlEnv) -> Tensor:
    return sensed(env, "base_vel")[:, 2].square()


def wobble(env: ManagerBasedRlEnv) -> Tensor:
    return sensed(env, "gyro")[:, :2].square().sum(1)


def power(env: ManagerBasedRlEnv) -> Tensor:
    robot = env.scene["robot"].data
    return (robot.qfrc_actuator * robot.joint_vel).abs().sum(1)


def height(env: ManagerBasedRlEnv) -> Tensor:
    return sensed(env, "base_pos")[:, 2:]


def foot_contact(env: ManagerBasedRlEnv) -> Tensor:
    return (torch.cat([sensed(env, f"touch/{leg}") for leg in ("fl", "fr", "hl", "hr")], dim=1) > 1.0).float()
