"""The nouns on disk and on the wire: frozen dataclasses of plain values, the same in JSON and in TypeScript.

A field is a str, int, float, bool, one of those or None, another message, a tuple of any of these, or a dict of plain JSON.
"""

from paddock.messages.bench import BenchComparison as BenchComparison
from paddock.messages.bench import BenchRow as BenchRow
from paddock.messages.bench import BenchRun as BenchRun
from paddock.messages.codec import from_json as from_json
from paddock.messages.codec import to_json as to_json
from paddock.messages.controller import ActuatorRow as ActuatorRow
from paddock.messages.controller import ControllerAgreement as ControllerAgreement
from paddock.messages.controller import ControllerInput as ControllerInput
from paddock.messages.controller import ControllerManifest as ControllerManifest
from paddock.messages.controller import ControllerOutput as ControllerOutput
from paddock.messages.controller import ControllerVersions as ControllerVersions
from paddock.messages.controller import ObservationSpan as ObservationSpan
from paddock.messages.controller import RequiredReading as RequiredReading
from paddock.messages.import_report import ImportedJoint as ImportedJoint
from paddock.messages.import_report import ImportedPath as ImportedPath
from paddock.messages.import_report import ImportNote as ImportNote
from paddock.messages.import_report import ImportReport as ImportReport
from paddock.messages.import_report import MimicJoint as MimicJoint
from paddock.messages.import_report import ModelSize as ModelSize
from paddock.messages.import_report import RobotNames as RobotNames
from paddock.messages.parity import ContactRow as ContactRow
from paddock.messages.parity import DivergencePoint as DivergencePoint
from paddock.messages.parity import EpisodeStatistic as EpisodeStatistic
from paddock.messages.parity import FieldError as FieldError
from paddock.messages.parity import FlagAgreement as FlagAgreement
from paddock.messages.parity import Outlier as Outlier
from paddock.messages.parity import ParityReport as ParityReport
from paddock.messages.parity import SideStatistic as SideStatistic
from paddock.messages.platform import Platform as Platform
from paddock.messages.run import BestCheckpoint as BestCheckpoint
from paddock.messages.run import CheckpointCard as CheckpointCard
from paddock.messages.run import GitState as GitState
from paddock.messages.run import RunCard as RunCard
from paddock.messages.run import RunProgress as RunProgress
from paddock.messages.run import RunSetup as RunSetup
from paddock.messages.run import TaskSource as TaskSource
from paddock.messages.scene import Scene as Scene
from paddock.messages.scene import SceneBody as SceneBody
from paddock.messages.scene import SceneCamera as SceneCamera
from paddock.messages.scene import SceneGeom as SceneGeom
from paddock.messages.scene import SceneHeights as SceneHeights
from paddock.messages.scene import SceneJoint as SceneJoint
from paddock.messages.scene import SceneMesh as SceneMesh
from paddock.messages.scene import SceneSite as SceneSite
from paddock.messages.sweep import SweepCard as SweepCard
from paddock.messages.sweep import TrialRow as TrialRow
from paddock.messages.task_card import ActionRow as ActionRow
from paddock.messages.task_card import MotorRow as MotorRow
from paddock.messages.task_card import ObservationGroup as ObservationGroup
from paddock.messages.task_card import PictureRow as PictureRow
from paddock.messages.task_card import SensorRow as SensorRow
from paddock.messages.task_card import TaskCard as TaskCard
from paddock.messages.task_card import TermRow as TermRow
