"""Show that the physical test of every randomiser fails when the randomiser writes nothing.

    python bench/mutate_randomizers.py

Each test runs twice: as it is, and with the randomiser's `apply` (`wrench`, `look`, or the scaling of
noise) returning what it was given. The first must pass and the second fail. Results: bench/results/randomizers.json.
"""

import json
import sys
from pathlib import Path

import pytest
import torch

from paddock import terms as t
from paddock.tasks.readings import Readings

ROOT = Path(__file__).parent.parent
OUT = ROOT / "bench" / "results" / "randomizers.json"
NOTHING = {
    "wrench": lambda self, state: torch.zeros(state.num_worlds, 6),
    "look": lambda self, drawn, values, model: {},
    "apply": lambda self, drawn, values, layout: {},
}
TESTS = {
    "Mass": "bodies.py::test_a_heavier_load_sags_more_under_the_same_servo",
    "Inertia": "bodies.py::test_inertia_alone_slows_the_wheel_and_weighs_nothing",
    "CentreOfMass": "bodies.py::test_an_offset_centre_of_mass_turns_the_wheel_over",
    "Size": "bodies.py::test_a_larger_ball_rests_higher",
    "Gravity": "bodies.py::test_gravity_decides_how_fast_a_ball_falls",
    "Friction": "contacts.py::test_torsional_friction_stops_a_spinning_ball",
    "Restitution": "contacts.py::test_restitution_decides_how_high_a_ball_bounces",
    "Damping": "joints.py::test_a_factor_slows_the_wheel[randomizer0-damping]",
    "Armature": "joints.py::test_a_factor_slows_the_wheel[randomizer1-armature]",
    "FrictionLoss": "joints.py::test_a_factor_slows_the_wheel[randomizer2-loss]",
    "MotorStrength": "motors.py::test_a_stronger_motor_turns_the_wheel_faster",
    "ServoGains": "motors.py::test_stiffness_changes_how_far_the_load_sags_and_not_the_set_point",
    "GearRatio": "motors.py::test_a_gear_turns_ratio_into_torque_and_felt_inertia",
    "CommandDelay": "motors.py::test_a_command_arrives_as_late_as_was_drawn",
    "SensorDelay": "motors.py::test_a_sensor_reports_as_late_as_was_drawn",
    "Push": "contacts.py::test_a_push_upwards_changes_momentum_by_force_times_time_and_ends",
    "NoiseScale": "../test_noise.py::test_a_scale_is_drawn_for_each_world",
    "Light": "looks.py::test_pictures_of_two_worlds_differ_from_nominal_and_from_each_other[light]",
    "View": "looks.py::test_pictures_of_two_worlds_differ_from_nominal_and_from_each_other[view]",
    "Tint": "looks.py::test_pictures_of_two_worlds_differ_from_nominal_and_from_each_other[paint]",
    "Finish": "looks.py::test_pictures_of_two_worlds_differ_from_nominal_and_from_each_other[finish]",
}


def passes(test: str, patch: pytest.MonkeyPatch, mutated: str = "") -> bool:
    """Whether a test passes, with one randomiser mutated or none; anything but a passed or a failed test is an error."""
    with patch.context() as during:
        if mutated == "NoiseScale":
            during.setattr(Readings, "_scaled", lambda self, state, clean, reading: reading)
        elif mutated:
            kind = getattr(t, mutated)
            verb = next(name for name in NOTHING if hasattr(kind, name))
            during.setattr(kind, verb, NOTHING[verb])
        done = pytest.main(["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", str(ROOT / test)])
    if done not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{test} neither passed nor failed: {done!r}")
    return done == pytest.ExitCode.OK


def main() -> None:
    rows: list[dict[str, object]] = []
    patch = pytest.MonkeyPatch()
    for name, place in TESTS.items():
        test = f"tests/test_randomizers_{place}" if not place.startswith("../") else f"tests/{place.removeprefix('../')}"
        row = {
            "randomizer": name,
            "test": test,
            "passes": passes(test, patch),
            "passes_without_the_write": passes(test, patch, name),
        }
        rows.append(row)
        print(row, flush=True)
        OUT.write_text(json.dumps(rows, indent=2) + "\n")
    wrong = [row["randomizer"] for row in rows if not row["passes"] or row["passes_without_the_write"]]
    if wrong:
        sys.exit(f"not shown for {wrong}")


if __name__ == "__main__":
    main()
