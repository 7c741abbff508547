"""n worlds on an NVIDIA GPU, stepped by MuJoCo Warp: the same contract as the CPU sim, every tensor shared with the engine.

A step rests at the velocity stage as the CPU sim does, but in two halves, so that a reset costs no second round of collisions:
`step` ends with the kinematics and sensors of the state reached, and `forward`, which follows the resets of the same control step,
brings everything else up to date that the next step begins with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp
from torch import Tensor

from paddock.errors import PaddockError, unknown
from paddock.sims.capacity import Capacity
from paddock.sims.gpu_fields import expanded
from paddock.sims.gpu_histories import GpuHistories
from paddock.sims.gpu_kernels import Defaults, Judge
from paddock.sims.streams import on_stream
from paddock.worlds import Worlds

ACC = int(mujoco.mjtStage.mjSTAGE_ACC)
WRITABLE = ("qpos", "qvel", "act", "xfrc_applied", "qfrc_applied", "mocap_pos", "mocap_quat")
STATE = (*WRITABLE, "ctrl", "qacc_warmstart", "time", "history")
"""What the next step depends on, but for the model."""
STALE = ("qacc", "act_dot")
"""What the engine keeps from one step to the next without depending on it, unless it is no number."""
FULL = ("NEFC", "NJMAX_NNZ", "BROADPHASE", "NARROWPHASE", "CCD", "HFIELD", "CONTACT_MATCH")
FATAL = sum(int(mjw.OverflowType[name]) for name in FULL)
"""Contacts or constraints that were left out, so that what such a world did means nothing."""
MAX_SPEED = 1e10
"""Faster than this the CPU engine calls a velocity bad, too."""
INERTIAL = ("body_mass", "body_inertia", "body_ipos", "dof_armature")
FROM_INERTIA = ("body_subtreemass", "body_invweight0", "dof_invweight0", "tendon_length0", "tendon_invweight0", "actuator_acc0")
DERIVED = {**dict.fromkeys(INERTIAL, FROM_INERTIA), "actuator_gear": ("actuator_acc0",), "geom_size": ("geom_rbound", "geom_aabb")}
"""What the engine derives from a model field. Left shared between worlds, it would be derived from the first world's alone."""
SENSORS = mujoco.mjtSensor
NEEDS_MORE = {
    int(kind)
    for kind in (
        SENSORS.mjSENS_ACTUATORPOS,
        SENSORS.mjSENS_ACTUATORVEL,
        SENSORS.mjSENS_TENDONVEL,
        SENSORS.mjSENS_JOINTLIMITPOS,
        SENSORS.mjSENS_JOINTLIMITVEL,
        SENSORS.mjSENS_TENDONLIMITPOS,
        SENSORS.mjSENS_TENDONLIMITVEL,
        SENSORS.mjSENS_GEOMDIST,
        SENSORS.mjSENS_GEOMNORMAL,
        SENSORS.mjSENS_GEOMFROMTO,
        SENSORS.mjSENS_E_POTENTIAL,
        SENSORS.mjSENS_E_KINETIC,
    )
}
"""Sensors of the position and velocity stages that read more than where bodies are and how fast they move."""


class GpuSim:
    """n worlds on one device of MuJoCo Warp, `cuda:0` or, slowly and for tests, `cpu`. Reproducible within tolerances only."""

    by_rows = False

    def __init__(
        self,
        model: mujoco.MjModel,
        num_worlds: int,
        *,
        device: str = "cuda:0",
        stage: str = "velocity",
        fields: Sequence[str] = (),
        capacity: Capacity | None = None,
    ) -> None:
        if num_worlds < 1:
            raise PaddockError(f"num_worlds is {num_worlds}; a sim needs at least 1 world.")
        if stage != "velocity":
            raise PaddockError(
                "this task reads the engine's fields one substep late, as Gymnasium does: it runs on --sim cpu only."
            )
        if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
            raise PaddockError(
                "the model integrates by RK4, which between two halves of a step would silently become Euler. "
                "Use integrator=implicitfast, or --sim cpu."
            )
        if (model.sensor_type == mujoco.mjtSensor.mjSENS_USER).any():
            raise PaddockError("this task has sensors that Paddock's CPU sim computes, such as a level HeightScan. Use --sim cpu.")
        self.device = torch.device(device)
        self.model = model
        self.num_worlds = num_worlds
        self.capacity = capacity or Capacity.of(model)
        self.derives_constants = False
        self.model_fields: dict[str, Tensor] = {}
        with on_stream(self.device):
            try:
                self._model = mjw.put_model(model)
            except NotImplementedError as refusal:
                raise PaddockError(f"MuJoCo Warp cannot run this model: {refusal} Use --sim cpu.") from None
            self._model.opt.warn_overflow = 0  # counted in `failed`, not printed
            self._data = self._made_data()
        self._tensors = {name: wp.to_torch(getattr(self._data, name)) for name in (*STATE, *STALE)}
        self._overflow = wp.to_torch(self._data.overflow)
        self.qpos, self.qvel, self.act, self.ctrl = (self._tensors[name] for name in ("qpos", "qvel", "act", "ctrl"))
        self.mocap_pos, self.mocap_quat = self._tensors["mocap_pos"], self._tensors["mocap_quat"]
        self._engine_sensors = wp.to_torch(self._data.sensordata)
        self.sensordata = torch.zeros_like(self._engine_sensors)  # the engine adds up touch in place, so what is read is a copy
        self._is_step_sensor = torch.from_numpy(np.repeat(model.sensor_needstage == ACC, model.sensor_dim)).to(self.device)
        self.failed = torch.zeros(num_worlds, dtype=torch.bool, device=self.device)
        self.crowded = torch.zeros(1, dtype=torch.int32, device=self.device)
        """How often a world had more contacts or constraints than room."""
        self._judge = Judge(self.qpos, self.qvel, self._overflow, self.failed, self.crowded)
        self.fields = {name: self._field(name) for name in fields}
        self._looks_far = bool(set(model.sensor_type[model.sensor_needstage < ACC].tolist()) & NEEDS_MORE)
        self._histories = GpuHistories(model, self._model, self._data) if model.nhistory else None
        self._defaults = Defaults(self._tensors, self._overflow)
        self._is_settled = False
        self.forward(Worlds(torch.ones_like(self.failed), None))

    @property
    def rows(self) -> Tensor:
        raise PaddockError("what a GPU computes cannot be replayed bit for bit, so it is not recorded. Record with --sim cpu.")

    def step(self, ctrl: Tensor, substeps: int) -> None:
        with on_stream(self.device):
            self.ctrl.copy_(ctrl)
            if not self._is_settled:
                mjw.step1(self._model, self._data)
            for substep in range(substeps):
                mjw.step2(self._model, self._data)
                if substep < substeps - 1:
                    mjw.step1(self._model, self._data)
            held = self._engine_sensors.clone() if self._looks_far else self._engine_sensors
            self._sense()
            if self._looks_far:
                self.sensordata.copy_(torch.where(self._is_step_sensor, held, self._engine_sensors))
            else:
                self.sensordata.copy_(self._engine_sensors)
            self._is_settled = self._looks_far
            self._judge(fatal=FATAL, fastest=MAX_SPEED)

    def reset(self, worlds: Worlds) -> None:
        with on_stream(self.device):
            self._defaults.put(worlds.mask)
        self._is_settled = False

    def write(self, name: str, value: Tensor, worlds: Worlds | None = None, *, index: int | None = None) -> None:
        if name not in WRITABLE:
            raise unknown("state field", name, WRITABLE)
        target = self._tensors[name] if index is None else self._tensors[name][:, index]
        target.copy_(value) if worlds is None else worlds.put(target, value.to(target.dtype))
        if name in ("qpos", "qvel"):
            self._is_settled = False

    def forward(self, worlds: Worlds) -> None:
        """Bring every world up to date: those that did not change come to the same numbers again."""
        with on_stream(self.device):
            if self._histories is not None:
                self._histories.begin(worlds, self._sense)
            mjw.step1(self._model, self._data)
            fresh = torch.where(self._is_step_sensor, 0.0, self._engine_sensors)
            worlds.put(self.sensordata, fresh)
        self._is_settled = True

    def expand(self, name: str) -> None:
        with on_stream(self.device):
            self.model_fields[name] = expanded(self._model, name, self.num_worlds)
            for derived in DERIVED.get(name, ()):
                expanded(self._model, derived, self.num_worlds)

    def write_model(self, name: str, value: Tensor, worlds: Worlds) -> None:
        if name not in self.model_fields:
            raise unknown("expanded model field", name, self.model_fields)
        field = self.model_fields[name]
        worlds.put(field, value.to(field.dtype))

    def set_const(self, worlds: Worlds) -> None:
        """For all worlds, with hundreds of launches: between rollouts, not within a step."""
        del worlds
        self.derives_constants = True
        with on_stream(self.device):
            mjw.set_const(self._model, self._data)
        self._is_settled = False

    def save(self) -> dict[str, Tensor]:
        saved = {name: self._tensors[name].clone() for name in STATE}
        saved |= {name: getattr(self, name).clone() for name in ("sensordata", "failed")}
        saved |= {f"fields/{name}": value.clone() for name, value in self.fields.items()}
        saved |= {f"model/{name}": value.clone() for name, value in self.model_fields.items()}
        return saved

    def load(self, saved: Mapping[str, Tensor]) -> None:
        for name, value in self.model_fields.items():
            value.copy_(saved[f"model/{name}"])
        everyone = Worlds(torch.ones_like(self.failed), None)
        if self.derives_constants:
            self.set_const(everyone)
        for name in STATE:
            self._tensors[name].copy_(saved[name])
        self._overflow.zero_()
        with on_stream(self.device):
            mjw.step1(self._model, self._data)
        self._is_settled = True
        self._tensors["history"].copy_(saved["history"])  # evaluating the sensors has entered a reading
        for name in ("sensordata", "failed"):
            getattr(self, name).copy_(saved[name])
        for name, value in self.fields.items():
            value.copy_(saved[f"fields/{name}"])

    def grow(self) -> None:
        """Twice the room for contacts and constraints; the state stays where it is. What captured a step must capture it anew."""
        self.capacity = self.capacity.grown()
        with on_stream(self.device):
            bigger = self._made_data()
            for name in (*STATE, *STALE, "overflow", "sensordata", *self.fields):
                setattr(bigger, name, getattr(self._data, name))
            self._data = bigger
        self.crowded.zero_()
        self.forward(Worlds(torch.zeros_like(self.failed), None))

    def _sense(self) -> None:
        """Positions, velocities and their sensors, of the state as it is now."""
        m, d = self._model, self._data
        if self._looks_far:
            mjw.step1(m, d)
            return
        mjw.fwd_kinematics(m, d)
        mjw.com_vel(m, d)
        mjw.sensor_pos(m, d)
        mjw.sensor_vel(m, d)

    def _made_data(self) -> mjw.Data:
        nconmax, njmax = self.capacity.contacts, self.capacity.constraints
        return mjw.make_data(self.model, nworld=self.num_worlds, nconmax=nconmax, njmax=njmax)

    def _field(self, name: str) -> Tensor:
        array = getattr(self._data, name, None)
        if not isinstance(array, wp.array):
            raise PaddockError(f"the GPU sim has no MjData field '{name}'. Use --sim cpu.")
        return wp.to_torch(array)
