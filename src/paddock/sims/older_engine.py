"""Saved model text -> text that MuJoCo 3.14 reads, the newest engine there is for browsers."""

import xml.etree.ElementTree as ET

TOLD_BY_INPUT = ("pid", "dcmotor", "so3")
"""Gains that 3.14, too, computes by what `input` says. For all others it only says what a control means, and is unknown there."""

Attributes = dict[str, str]


def for_mujoco_3_14(text: str) -> str:
    """The same model, in the words of MuJoCo 3.14. bench/engine_3_14.py compares what both engines make of every task."""
    root = ET.fromstring(text)
    defaults: dict[str, Attributes] = {}
    for default in root.findall("default"):
        _collect(default, {}, defaults)
    for body in root.iter("body"):
        body.attrib.pop("simple", None)
    for general in root.iterfind("actuator/general"):
        meant = _meant(defaults.get(general.get("class", "main"), {}), general)
        general.attrib.pop("input", None)
        if meant.get("gaintype") in TOLD_BY_INPUT and "input" in meant:
            general.set("input", meant["input"])
    for general in root.iterfind(".//default/general"):
        general.attrib.pop("input", None)
    return ET.tostring(root, encoding="unicode")


def _collect(default: ET.Element, inherited: Attributes, found: dict[str, Attributes]) -> None:
    """What each class says of an actuator, that of its parents included."""
    own = _meant(inherited, default.find("general"))
    found[default.get("class", "main")] = own
    for child in default.findall("default"):
        _collect(child, own, found)


def _meant(inherited: Attributes, general: ET.Element | None) -> Attributes:
    """What holds for an actuator; an `input` is not inherited by another kind of gain."""
    own = {} if general is None else general.attrib
    is_other = own.get("gaintype", inherited.get("gaintype")) != inherited.get("gaintype")
    return {name: value for name, value in inherited.items() if not (is_other and name == "input")} | own
