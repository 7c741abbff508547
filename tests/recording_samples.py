"""Recordings to read, replay and spoil: how they come about, and copies with one thing changed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Message, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer

import paddock
from paddock import Task
from paddock import terms as t
from paddock.playing import random as random_agent
from paddock.playing import scripted
from paddock.recording import Recorder, record_episodes
from paddock.runs.recording_reader import Recording, open_recording
from paddock.runs.recordings import (
    Keyframe,
    RecordingHeader,
    Steps,
    keyframe_parts,
    keyframes_topic,
    steps_parts,
    steps_topic,
    unpack_keyframe,
    unpack_steps,
)
from paddock.tasks.finding import find_task
from paddock.worlds import Worlds

STEPS, EPISODE, EVERY = 260, 65, 20
"""Control steps of the recorded walk, of each of its episodes, and from keyframe to keyframe."""


def shaken(**changes: object) -> Task:
    """A quadruped that thrashes, is pushed, and is another machine in every episode."""
    parts: dict[str, object] = {
        "episode_s": 0.9,
        "randomize": {
            "friction": t.Friction((0.4, 1.4)),
            "mass": t.Mass((0.7, 1.6), "trunk"),
            "push": t.Push(body="trunk", newtons=(10.0, 60.0), every_s=0.3, duration_s=0.1),
        },
    }
    return replace(find_task("quadruped-walk"), **(parts | changes))


def recorded_walk(path: Path) -> Path:
    """Four episodes of a robot that stumbles, is pushed and is another machine each time; two of three worlds are recorded."""
    env = paddock.make(shaken(episode_s=EPISODE * 0.02, done={}), num_worlds=3, seed=5)
    with Recorder(env, path, worlds=(0, 2), keyframe_every=EVERY) as recorder:
        env.reset()
        for step in range(STEPS):
            env.step(0.7 * scripted(env) + 0.6 * env.sample())
            if step % 50 == 0:
                recorder.flush()
    return path


def recorded(path: Path, task: Task | None = None, *, steps: int = 120, **options: object) -> Recording:
    """A recording of random actions, read back."""
    task = task or shaken()
    record_episodes(task, random_agent, path, seconds=steps * task.control_dt, **options)  # pyright: ignore[reportArgumentType]
    return open_recording(path)


def messages(path: Path) -> list[tuple[str, int, bytes]]:
    """Topic, time and content of everything in a file."""
    topics: dict[int, str] = {}
    found: list[tuple[str, int, bytes]] = []
    with path.open("rb") as file:
        for record in StreamReader(file, validate_crcs=True).records:
            if isinstance(record, Channel):
                topics[record.id] = record.topic
            elif isinstance(record, Message):
                found.append((topics[record.channel_id], record.log_time, record.data))
    return found


def chunks(content: bytearray) -> list[int]:
    """Where each chunk of a file begins."""
    found, place = [], 8
    while content[place] != Opcode.DATA_END:
        found += [place] * (content[place] == Opcode.CHUNK)
        place += 9 + int.from_bytes(content[place + 1 : place + 9], "little")
    return found


def rewritten(path: Path, out: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """A copy with some messages or files exchanged, every checksum right."""
    with path.open("rb") as file, out.open("wb") as target:
        writer = Writer(target, chunk_size=4096, compression=CompressionType.LZ4, enable_data_crcs=True)
        writer.start()
        schemas: set[int] = set()
        topics: dict[int, str] = {}
        for record in StreamReader(file).records:
            if isinstance(record, Attachment):
                writer.add_attachment(0, 0, record.name, record.media_type, change(record.name, record.data))
            elif isinstance(record, Schema) and record.id not in schemas:
                schemas.add(record.id)
                writer.register_schema(record.name, record.encoding, record.data)
            elif isinstance(record, Channel) and record.id not in topics:
                topics[record.id] = record.topic
                writer.register_channel(record.topic, record.message_encoding, record.schema_id)
            elif isinstance(record, Message):
                data = change(topics[record.channel_id], record.data)
                writer.add_message(record.channel_id, record.log_time, data, record.publish_time, record.sequence)
        writer.finish()
    return out


def is_prefix(part: Recording, whole: Recording) -> bool:
    """Whether everything in `part` is, bit for bit, how `whole` begins."""
    for world, own in part.tracks.items():
        full, n, m = whole.tracks[world], own.steps, len(own.change_steps)
        same = own.ctrl.tobytes() == full.ctrl[:n].tobytes() and own.crc.tobytes() == full.crc[:n].tobytes()
        same &= not (full.change_steps[m:] < n).any()
        for name in ("change_steps", "change_columns", "change_values"):
            same &= getattr(own, name).tobytes() == getattr(full, name)[:m].tobytes()
        keyframes = [keyframe for keyframe in full.keyframes if keyframe.step < n]
        same &= [k.step for k in own.keyframes] == [k.step for k in keyframes]
        same &= all(a.row.tobytes() == b.row.tobytes() for a, b in zip(own.keyframes, keyframes, strict=True))
        if not same:
            return False
    return part.header == whole.header


def some(env: paddock.Environment, world: int) -> Worlds:
    return Worlds.where(torch.arange(env.num_worlds) == world, by_rows=True)


def wedge(folder: Path) -> Path:
    """A robot whose shape lies in another folder."""
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "wedge.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    file = folder / "wedge.xml"
    file.write_text(
        '<mujoco><compiler meshdir="parts"/><asset><mesh file="wedge.obj"/></asset><worldbody><body name="pole">'
        '<joint name="hinge" axis="0 1 0"/><geom type="mesh" mesh="wedge"/></body></worldbody>'
        '<actuator><motor name="hinge" joint="hinge" ctrlrange="-2 2"/></actuator>'
        '<sensor><jointpos name="joint_pos/hinge" joint="hinge"/><jointvel name="joint_vel/hinge" joint="hinge"/></sensor></mujoco>'
    )
    return file


def edited(
    path: Path,
    out: Path,
    *,
    keyframe: Callable[[Keyframe], Keyframe] = lambda own: own,
    steps: Callable[[Steps], Steps] = lambda own: own,
) -> Path:
    """A copy in which world 0's keyframes or steps are changed, with every checksum of the file right."""
    header = open_recording(path).header

    def change(name: str, data: bytes) -> bytes:
        if name == keyframes_topic(0):
            return b"".join(keyframe_parts(keyframe(unpack_keyframe(data, header))))
        return b"".join(steps_parts(steps(unpack_steps(data, header)))) if name == steps_topic(0) else data

    return rewritten(path, out, change)


def columns(header: RecordingHeader, name: str) -> slice:
    field = next(field for field in header.row if field.name == name)
    return slice(field.start, field.start + field.size)
