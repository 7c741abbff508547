"""The tables of docs/senses.md, made from the code they are about.

python tests/randomizer_tables.py      # writes them into the page
"""

import re
from dataclasses import fields
from pathlib import Path

from paddock import terms as t
from paddock.inspecting import meaning
from paddock.tasks.randomize_presets import PRESETS, PUSH_EVERY_S

PAGE = Path(__file__).parent.parent / "docs" / "senses.md"
PHYSICAL = (
    *(t.Mass, t.Inertia, t.CentreOfMass, t.Size, t.Gravity, t.Friction, t.Restitution, t.Damping, t.Armature, t.FrictionLoss),
    *(t.MotorStrength, t.ServoGains, t.GearRatio, t.CommandDelay, t.SensorDelay, t.Push, t.NoiseScale),
)
LOOKS = (t.Light, t.View, t.Tint, t.Finish)


def fields_table() -> str:
    lines = ["| randomiser | what it does | model fields |", "|---|---|---|"]
    for kind in (*PHYSICAL, *LOOKS):
        names = getattr(kind, "look_fields", None) or getattr(kind, "model_fields", ())
        names = (kind.field,) if isinstance(names, property) else names  # type: ignore[attr-defined]
        written = ", ".join(f"`{name}`" for name in names) or ("`xfrc_applied`" if kind is t.Push else "none: observations")
        lines.append(f"| `{kind.__name__}` | {meaning(kind)} | {written} |")
    return "\n".join(lines)


def presets_table() -> str:
    lines = [f"| what | {' | '.join(PRESETS)} |", f"|---|{'--:|' * len(PRESETS)}"]
    for own in fields(PRESETS["light"]):
        sizes = [f"{getattr(strength, own.name) * 100:g} %" for strength in PRESETS.values()]
        lines.append(f"| {own.name} | {' | '.join(f'± {size}' if own.name != 'push' else f'up to {size}' for size in sizes)} |")
    lines.append(f"| a push every | {' | '.join([f'{PUSH_EVERY_S[0]:g} to {PUSH_EVERY_S[1]:g} s'] * len(PRESETS))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    page = PAGE.read_text()
    for name, table in (("randomisers", fields_table()), ("presets", presets_table())):
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda m, table=table: m[1] + table + "\n" + m[2], page, flags=re.DOTALL
        )
    PAGE.write_text(page)
