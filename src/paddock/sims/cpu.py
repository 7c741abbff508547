"""The reference sim: n worlds in one `mujoco.batch`, stepped by the engine's own threads."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import EllipsisType

import mujoco
import numpy as np
import torch
from mujoco.batch import DATA_FIELDS, Batch, SimulationError
from torch import Tensor

from paddock.cores import usable_cores
from paddock.errors import BrokenModel, PaddockError, unknown
from paddock.sims.engine import stop_engine_timers
from paddock.sims.heading_scans import HeadingScans
from paddock.sims.histories import Histories
from paddock.worlds import Worlds

VEL, ACC, NONE = (int(s) for s in (mujoco.mjtStage.mjSTAGE_VEL, mujoco.mjtStage.mjSTAGE_ACC, mujoco.mjtStage.mjSTAGE_NONE))
# contacts or constraints left out for want of memory, positions, velocities or accelerations that are no numbers, bad controls
FATAL_WARNINGS = slice(int(mujoco.mjtWarning.mjWARN_CONTACTFULL), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)
FEW = 8
WRITABLE = ("qpos", "qvel", "act", "xfrc_applied", "qfrc_applied", "mocap_pos", "mocap_quat")


class CpuSim:
    """n worlds on the CPU. Bit-identical for any number of threads, and for any world alone or among others.

    `stage="engine"` leaves derived fields one substep behind, as `mj_step` does, for tasks that copy Gymnasium's reading.
    """

    device = torch.device("cpu")
    by_rows = True

    def __init__(
        self,
        model: mujoco.MjModel,
        num_worlds: int,
        *,
        num_threads: int | None = None,
        stage: str = "velocity",
        fields: Sequence[str] = (),
    ) -> None:
        if num_worlds < 1:
            raise PaddockError(f"num_worlds is {num_worlds}; a sim needs at least 1 world.")
        if num_threads is not None and num_threads < 1:
            raise PaddockError(f"num_threads is {num_threads}; leave it out for all usable cores, or give at least 1.")
        # The engine writes warnings to a log file in the working folder unless somebody listens; `failed` is how we do.
        mujoco.set_mju_user_warning(lambda message: None)
        stop_engine_timers()
        self.model = model
        self.num_worlds = num_worlds
        self.num_threads = min(num_threads or usable_cores(), num_worlds)
        self._after_step, self._after_write = (VEL, VEL) if stage == "velocity" else (NONE, ACC)
        self._batch = Batch(model, num_worlds, self.num_threads, persistent=True)
        self._rows = {name: self._batch.bind(name) for name in WRITABLE}
        self.mocap_pos, self.mocap_quat = (torch.from_numpy(self._rows[name]) for name in ("mocap_pos", "mocap_quat"))
        self._ctrl = self._batch.bind("ctrl")
        self._warnings = self._batch.warning
        self._defaults = self._batch.state[0].copy()
        # A row holds all that the next step depends on, so writing it is a reset for a tenth of the time. Only fields that
        # nothing recomputes before they are read, and the counters of warnings, need the engine's own.
        self._keeps_fields = bool(fields) and stage == "velocity"
        self._warned = False
        self._expanded: dict[str, np.ndarray] = {}
        self.rows = torch.from_numpy(self._batch.state)
        self.model_fields: dict[str, Tensor] = {}
        self.derives_constants = False

        self.qpos = torch.zeros(num_worlds, model.nq)
        self.qvel = torch.zeros(num_worlds, model.nv)
        self.act = torch.zeros(num_worlds, model.na)
        self.ctrl = torch.zeros(num_worlds, model.nu)
        self.sensordata = torch.zeros(num_worlds, model.nsensordata)
        self._ctrl32, self._sensordata32 = self.ctrl.numpy(), self.sensordata.numpy()
        self._step_sensors = np.flatnonzero(np.repeat(model.sensor_needstage == ACC, model.sensor_dim))
        self.failed = torch.zeros(num_worlds, dtype=torch.bool)
        self.crowded = torch.zeros(1, dtype=torch.int32)
        self.fields = {name: torch.from_numpy(self._output(name).copy()) for name in fields}
        self._mirrors = [(getattr(self, name).numpy(), self._rows[name]) for name in ("qpos", "qvel", "act")]
        self._mirrors.append((self._sensordata32, self._output("sensordata")))
        self._mirrors += [(value.numpy(), self._output(name)) for name, value in self.fields.items()]
        self._scans = HeadingScans(model, self._batch, self._sensordata32)
        self._histories = Histories(model, self._batch) if (model.sensor_history[:, 0] > 0).any() else None
        try:
            self._batch.forward(stage=self._after_write)
        except SimulationError as error:
            raise BrokenModel(f"the model cannot be evaluated even at its defaults: {error}") from None
        self._refresh()

    def step(self, ctrl: Tensor, substeps: int) -> None:
        self.ctrl.copy_(ctrl)
        self._ctrl[:] = self._ctrl32
        self.failed.zero_()
        with self._containing_errors():
            self._batch.step(nstep=substeps, stage=self._after_step)
        warned = self._warnings[:, FATAL_WARNINGS, 1]
        if warned.any():
            self._warned = True
            self.failed |= torch.from_numpy(warned.any(axis=1))
        self._refresh()
        if self._scans:
            self._scans.look()

    def reset(self, worlds: Worlds) -> None:
        if self._keeps_fields or self._warned:
            self._batch.reset(_ids(worlds), stage=NONE)
            self._warned = bool(self._warnings[:, FATAL_WARNINGS, 1].any())
        self._batch.state[_ids(worlds)] = self._defaults
        worlds.clear(self.ctrl)

    def write(self, name: str, value: Tensor, worlds: Worlds | None = None, *, index: int | None = None) -> None:
        if name not in self._rows:
            raise unknown("state field", name, self._rows)
        rows = self._rows[name] if index is None else self._rows[name][:, index]
        rows[... if worlds is None else _ids(worlds)] = value.numpy()

    def forward(self, worlds: Worlds) -> None:
        with self._containing_errors():
            if self._histories is not None:
                self._histories.begin(_ids(worlds), stage=self._after_write)
        for ids in _portions(_ids(worlds)):
            with self._containing_errors():
                self._batch.forward(ids, stage=self._after_write)
        self._refresh(_ids(worlds))
        if self._scans:
            self._scans.look(_ids(worlds))
        if self._after_write == VEL:
            self._sensordata32[_ids(worlds)[:, None], self._step_sensors] = 0.0

    def expand(self, name: str) -> None:
        try:
            timed = {} if self._histories is None else self._histories.expanded
            self._expanded[name] = timed[name] if name in timed else self._batch.expand(name)
        except ValueError as refusal:
            raise PaddockError(f"the model field '{name}' cannot differ between worlds: {refusal}") from None
        self.model_fields[name] = torch.from_numpy(self._expanded[name])

    def write_model(self, name: str, value: Tensor, worlds: Worlds) -> None:
        if name not in self._expanded:
            raise unknown("expanded model field", name, self._expanded)
        self._expanded[name][_ids(worlds)] = value.numpy()

    def grow(self) -> None:
        """The arena is memory of its own for each world, sized by the model; a world that needs more fails."""

    def set_const(self, worlds: Worlds) -> None:
        self.derives_constants = True
        for ids in _portions(_ids(worlds)):
            self._batch.set_const(ids)

    def save(self) -> dict[str, Tensor]:
        saved = {"rows": torch.from_numpy(self._batch.state.copy())}
        saved |= {name: getattr(self, name).clone() for name in ("sensordata", "ctrl", "failed")}
        saved |= {f"fields/{name}": value.clone() for name, value in self.fields.items()}
        saved |= {f"model/{name}": torch.from_numpy(value.copy()) for name, value in self._expanded.items()}
        return saved

    def load(self, saved: Mapping[str, Tensor]) -> None:
        for name, rows in self._expanded.items():
            rows[:] = saved[f"model/{name}"].numpy()
        if self.derives_constants:
            self._batch.set_const()
        self._batch.state[:] = saved["rows"].numpy()
        self._refresh()
        # acceleration-stage sensors cannot be recomputed from a state, so what they read is restored, not derived
        for name in ("sensordata", "ctrl", "failed"):
            getattr(self, name).copy_(saved[name])
        for name, value in self.fields.items():
            value.copy_(saved[f"fields/{name}"])

    @contextmanager
    def _containing_errors(self) -> Iterator[None]:
        """A world in which the engine raises keeps its state and is marked; the others have finished the call."""
        try:
            yield
        except SimulationError as error:
            self.failed[torch.from_numpy(np.asarray(error.ids, dtype=np.int64))] = True

    def _refresh(self, ids: np.ndarray | EllipsisType = ...) -> None:
        """Copy the engine's float64 arrays, of some worlds or all, into the float32 tensors that terms read."""
        for mirror, source in self._mirrors:
            mirror[ids] = source[ids]

    def copy_of(self, world: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """One world's own model and data, to look at with any of MuJoCo's functions."""
        return self._batch.get_model(world), self._batch.get_data(world)

    def _output(self, name: str) -> np.ndarray:
        try:
            return self._batch.bind(name)
        except ValueError:
            raise unknown("MjData field", name, DATA_FIELDS) from None


def _portions(ids: np.ndarray) -> Sequence[np.ndarray]:
    """A few worlds one by one: until the engine's threads are awake, one has long done them all."""
    return [*ids[:, None]] if len(ids) <= FEW else [ids]


def _ids(worlds: Worlds) -> np.ndarray:
    assert worlds.rows is not None  # by_rows
    return worlds.rows.numpy()
