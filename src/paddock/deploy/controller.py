"""An exported controller for one robot: readings in, ctrl out. It carries what must be carried, and refuses bad readings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paddock.deploy.graph_checks import MAX_BYTES, RefusedController, check_graph
from paddock.errors import PaddockError
from paddock.messages import ControllerInput, ControllerManifest, ControllerOutput, from_json

if TYPE_CHECKING:
    import onnxruntime

FORMAT_VERSION = 1
GRAPH_FILE, MANIFEST_FILE = "controller.onnx", "manifest.json"
CARRIED, COMMAND = "carried/", "command/"
MAX_MANIFEST_BYTES = 4 * 1024 * 1024
DTYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(int64)": "int64", "tensor(bool)": "bool"}
DTYPES |= {"tensor(uint8)": "uint8", "tensor(int32)": "int32"}  # pictures
"""onnxruntime's names for what a manifest calls a dtype."""

Held = tuple[tuple[int, ...], str]
"""Shape (of one robot) and dtype of an input or output, as the graph itself has them."""


class BadReading(PaddockError, ValueError):
    """A sensor or command that is missing, of the wrong shape or not finite."""


class Controller:
    """What a robot runs once each `manifest.control_dt` seconds."""

    def __init__(self, manifest: ControllerManifest, session: onnxruntime.InferenceSession) -> None:
        self.manifest = manifest
        self.carried: dict[str, np.ndarray] = {}
        """What the next step takes over from the last one, by input; (1, ...) each."""
        self._session = session
        names = {reading.input: reading.name for reading in manifest.required}
        self._readings = [(names[i.name], i) for i in manifest.inputs if i.name in names]
        self._commands = [(i.name.removeprefix(COMMAND), i) for i in manifest.inputs if i.source == "command"]
        self._outputs = [output.name for output in manifest.outputs]
        self.reset()

    @staticmethod
    def open(folder: Path) -> Controller:
        """The controller that `export_controller` wrote, if it is whole and harmless."""
        manifest = _manifest(folder / MANIFEST_FILE)
        if manifest.format_version != FORMAT_VERSION:
            raise RefusedController(
                f"{folder} has format {manifest.format_version}; this paddock reads {FORMAT_VERSION}. Export the policy again."
            )
        graph = _read(folder / GRAPH_FILE, MAX_BYTES)
        if sha256(graph).hexdigest() != manifest.controller_sha256:
            raise RefusedController(f"{folder / GRAPH_FILE} is not the file its manifest was written for. Export the policy again.")
        session = open_session(graph)
        _check_signature(manifest, session)
        return Controller(manifest, session)

    def reset(self, *, key: int = 0) -> None:
        """Begin an episode: what is remembered starts anew with the next readings. `key` picks what memories draw."""
        start = {"first": True, "key": key}
        own = [i for i in self.manifest.inputs if i.source in ("first", "key", "carried")]
        self.carried = {i.name: np.full((1, *i.shape), start.get(i.source, i.initial), i.dtype) for i in own}

    def act(self, sensors: Mapping[str, np.ndarray], command: Mapping[str, np.ndarray] = {}) -> np.ndarray:
        """ctrl (nu,) float32 for this step's readings and commands, by name. After an error nothing has been carried on."""
        feed = dict(self.carried)
        for kind, wanted, given in (("sensor", self._readings, sensors), ("command", self._commands, command)):
            for name, entry in wanted:
                if name not in given:
                    raise BadReading(f"{kind} '{name}' is missing; given: {', '.join(given) or 'none'}.")
                feed[entry.name] = _checked(f"{kind} '{name}'", given[name], entry)
        outputs = run_session(self._session, self._outputs, feed)
        for name, value in outputs.items():
            if not np.isfinite(value).all():
                raise PaddockError(f"the controller's {name} is not finite, though every reading was. Stop the robot.")
        self.carried |= {name: outputs[name.removeprefix(CARRIED)] for name in self.carried if name.startswith(CARRIED)}
        if "first" in self.carried:
            self.carried["first"] = np.zeros(1, bool)
        return outputs["ctrl"][0]


def open_session(graph: bytes) -> onnxruntime.InferenceSession:
    """onnxruntime on one thread, which on a graph this small is faster than two and leaves the other cores alone."""
    check_graph(graph)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a dozen error types, all direct children of Exception
        raise RefusedController(f"onnxruntime does not take the graph: {error}") from None


def run_session(session: onnxruntime.InferenceSession, outputs: list[str], feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the graph returns, by name."""
    values: Any = session.run(outputs, feed)  # onnxruntime would also speak of sparse tensors and lists
    return dict(zip(outputs, values, strict=True))


def signature(session: onnxruntime.InferenceSession) -> dict[str, dict[str, Held]]:
    """The graph's `inputs` and `outputs` by name."""
    sides = {"inputs": session.get_inputs(), "outputs": session.get_outputs()}
    return {
        side: {value.name: (tuple(value.shape[1:]), DTYPES.get(str(value.type), str(value.type))) for value in values}
        for side, values in sides.items()
    }


def _check_signature(manifest: ControllerManifest, session: onnxruntime.InferenceSession) -> None:
    """Refuse a manifest that does not describe the graph, or from which the graph cannot be fed."""
    rows: dict[str, tuple[ControllerInput, ...] | tuple[ControllerOutput, ...]]
    rows = {"inputs": manifest.inputs, "outputs": manifest.outputs}
    for side, held in signature(session).items():
        said = {row.name: (row.shape, row.dtype) for row in rows[side]}
        if said != held:
            raise RefusedController(f"the manifest speaks of {side} {said}, but the graph has {held}. Export the policy again.")
    required = {reading.input for reading in manifest.required}
    returned = {row.name for row in manifest.outputs}
    unfed = [row.name for row in manifest.inputs if not _is_fed(row, required, returned)]
    if unfed or not {"ctrl", "action"} <= returned or not required <= {row.name for row in manifest.inputs}:
        raise RefusedController(
            f"the manifest cannot be followed: nothing feeds {', '.join(unfed) or 'no input'}, required are "
            f"{', '.join(sorted(required)) or 'none'}, returned are {', '.join(sorted(returned))}. Export the policy again."
        )


def _is_fed(row: ControllerInput, required: set[str], returned: set[str]) -> bool:
    if row.source == "carried":
        is_small = math.prod(row.shape) * 8 <= MAX_BYTES
        return row.name.startswith(CARRIED) and row.name.removeprefix(CARRIED) in returned and row.initial is not None and is_small
    if row.source == "command":
        return row.name.startswith(COMMAND)
    if row.source in ("sensor", "camera", "simulator"):
        return row.name in required
    return row.source == row.name in ("first", "key")


def _checked(what: str, value: np.ndarray, entry: ControllerInput) -> np.ndarray:
    """The value as the graph takes it; (1, ...)."""
    try:
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused below
            array = np.asarray(value, dtype=entry.dtype)
    except (TypeError, ValueError) as error:
        raise BadReading(f"{what} is {value!r}, wanted {entry.dtype} numbers of shape {entry.shape}: {error}") from None
    if array.shape != entry.shape:
        raise BadReading(f"{what} has shape {array.shape}, wanted {entry.shape}.")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise BadReading(f"{what} is {array[place]} at {place}. Check the sensor before the robot moves.")
    return array[None]


def _manifest(file: Path) -> ControllerManifest:
    try:
        return from_json(ControllerManifest, _read(file, MAX_MANIFEST_BYTES).decode())
    except (UnicodeDecodeError, RecursionError) as error:
        raise RefusedController(f"{file} is not the text of a manifest: {error}") from None


def _read(file: Path, limit: int) -> bytes:
    if not file.is_file():
        raise RefusedController(f"there is no {file}. A controller is a folder with {GRAPH_FILE} and {MANIFEST_FILE}.")
    if file.stat().st_size > limit:
        raise RefusedController(f"{file} has {file.stat().st_size} bytes; at most {limit} are taken.")
    return file.read_bytes()
