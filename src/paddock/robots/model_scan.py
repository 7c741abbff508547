"""Model files from strangers, parsed and looked over before the engine sees them.

MuJoCo accepts a NaN, unrolls a billion copies from a hundred bytes and opens any path it is given. Here such a file is refused,
with the attribute that is to blame.
"""

import math
import xml.etree.ElementTree as ET
from xml.parsers import expat

from paddock.errors import UnsafeFile

MAX_XML_BYTES = 32 * 2**20
MAX_DEPTH = 150
MAX_ELEMENTS = 200_000
MAX_NUMBER = 1e12
"""The engine's own infinity is 1e10; beyond that, its sums overflow."""
MAX_LENGTH = 1e6
"""Metres. A coordinate near 2**31 keeps the engine's tendon wrapping busy for ever."""

NAMES = frozenset(
    [
        "name",
        "class",
        "childclass",
        "model",
        "prefix",
        "suffix",
        "body",
        "body1",
        "body2",
        "joint",
        "joint1",
        "joint2",
        "geom",
        "geom1",
        "geom2",
        "site",
        "site1",
        "site2",
        "tendon",
        "tendon1",
        "tendon2",
        "actuator",
        "cranksite",
        "slidersite",
        "jointinparent",
        "refsite",
        "sidesite",
        "target",
        "mesh",
        "hfield",
        "material",
        "texture",
        "objname",
        "refname",
        "data",
        "link",
        "file",
        "filename",
        "package",
        "type",
        "value",
        "reference",
    ]
)
"""Attributes whose words are names. A link may be called `inf`."""

LENGTHS = frozenset(["pos", "fromto", "size", "xyz", "vertex", "scale", "radius", "length", "refpos", "origin", "anchor"])

COUNTS: dict[str, dict[str, int]] = {
    "size": {
        "nkey": 10_000,
        "nconmax": 10**6,
        "njmax": 10**6,
        "nstack": 10**8,
        "nuserdata": 10**5,
        "nuser_body": 1000,
        "nuser_jnt": 1000,
        "nuser_geom": 1000,
        "nuser_site": 1000,
        "nuser_cam": 1000,
        "nuser_tendon": 1000,
        "nuser_actuator": 1000,
        "nuser_sensor": 1000,
    },
    "texture": {"width": 8192, "height": 65_536},
    "hfield": {"nrow": 4096, "ncol": 4096},
    "actuator": {"nsample": 10_000},
    "global": {"offwidth": 16_384, "offheight": 16_384},
    "quality": {"shadowsize": 16_384, "offsamples": 64, "numslices": 1000, "numstacks": 1000, "numquads": 1000},
    "camera": {"resolution": 16_384},
    "option": {"iterations": 100_000, "ls_iterations": 100_000, "noslip_iterations": 100_000, "ccd_iterations": 100_000},
    "mesh": {"maxhullvert": 100_000},
}
"""Largest numbers an element may ask for. `actuator` stands for every kind of actuator and sensor."""

MAX_COPIES = 50_000
"""Elements of a model, after `replicate`, `composite` and `flexcomp` are unrolled."""
MAX_MEMORY_BYTES = 2**30
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50, "e": 2**60}
RUNS_CODE = ("extension", "plugin")


def parse(content: bytes, where: str, *, with_text: bool = False) -> ET.Element:
    """The root element. No entities, no endless nesting, no more than a model needs.

    Text between elements means nothing in a robot's description; a mesh has its numbers there.
    """
    if len(content) > MAX_XML_BYTES:
        raise UnsafeFile(f"{where} has {len(content):,} bytes; a model description has at most {MAX_XML_BYTES:,}.")
    builder = _Builder(where)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.EntityDeclHandler = builder.entity
    if with_text:
        parser.CharacterDataHandler = builder.words.append
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UnsafeFile(f"{where} is not XML: {error}.") from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not have
        raise UnsafeFile(f"{where} cannot be decoded: {error}.") from None
    assert builder.root is not None  # expat refuses a document without an element
    return builder.root


class _Builder:
    """Makes elements from the parser's events, counting as it goes."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.root: ET.Element | None = None
        self.open: list[ET.Element] = []
        self.words: list[str] = []
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise UnsafeFile(f"{self.where} nests more than {MAX_DEPTH} elements.")
        if self.count > MAX_ELEMENTS:
            raise UnsafeFile(f"{self.where} has more than {MAX_ELEMENTS:,} elements.")
        self.words.clear()
        element = ET.Element(tag, attributes)
        if self.open:
            self.open[-1].append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        closed = self.open.pop()
        if self.words and not len(closed):
            closed.text = "".join(self.words)
        self.words.clear()

    def entity(self, name: str, *_: object) -> None:
        raise UnsafeFile(f"{self.where} declares the entity '{name}', which no model needs.")


def scan(root: ET.Element, where: str) -> None:
    """Refuse numbers that are none, counts that never end, and code."""
    for element in root.iter():
        if element.tag in RUNS_CODE:
            raise UnsafeFile(f"{where}: <{element.tag}> loads code, which an imported model may not. Remove it.")
        for name, value in element.attrib.items():
            if name not in NAMES:
                _check_numbers(element, name, value, where)
        _check_counts(element, where)
    if _unrolled(root) > MAX_COPIES:
        raise UnsafeFile(f"{where} unrolls to more than {MAX_COPIES:,} elements by <replicate>, <composite> or <flexcomp>.")


def _check_numbers(element: ET.Element, name: str, value: str, where: str) -> None:
    for word in value.split():
        number = number_of(word)
        if number is None:
            continue
        if not math.isfinite(number):
            raise UnsafeFile(f'{where}: {name}="{value[:80]}" of {_titled(element)} is not finite.')
        if abs(number) > MAX_NUMBER:
            raise UnsafeFile(f'{where}: {name}="{value[:80]}" of {_titled(element)} is beyond {MAX_NUMBER:g}.')
        if name in LENGTHS and abs(number) > MAX_LENGTH:
            raise UnsafeFile(f'{where}: {name}="{value[:80]}" of {_titled(element)} is beyond {MAX_LENGTH:,.0f} m.')


def _check_counts(element: ET.Element, where: str) -> None:
    limits = COUNTS.get(element.tag, COUNTS["actuator"])
    for name in element.attrib.keys() & limits.keys():
        for word in element.attrib[name].split():
            number = number_of(word)
            if number is not None and not 0 <= number + 1 <= limits[name] + 1:  # -1 is "as many as needed" in many of them
                raise UnsafeFile(f'{where}: {name}="{word[:80]}" of {_titled(element)}; at most {limits[name]:,} are allowed.')
    if element.tag == "size" and _bytes(element.get("memory", "")) > MAX_MEMORY_BYTES:
        raise UnsafeFile(
            f'{where}: memory="{element.attrib["memory"][:80]}" of <size>; at most {MAX_MEMORY_BYTES >> 20} MB are allowed.'
        )


def _unrolled(element: ET.Element) -> int:
    """Elements below and with this one, after copies are made. Grows with the product of nested counts."""
    below = 1 + sum(_unrolled(child) for child in element)
    copies = element.tag in ("replicate", "composite", "flexcomp")
    return below * max(1, _count(element.get("count", "1"))) if copies else below


def _count(text: str) -> int:
    """The product of the numbers in a count such as `10 10 4`."""
    numbers = [number_of(word) for word in text.split()]
    return math.prod(int(min(abs(n), 1e9)) or 1 for n in numbers if n is not None and math.isfinite(n))


def _bytes(text: str) -> float:
    """`64M` as a number of bytes; 0 where it is none, which the engine says better than we could."""
    text = text.strip().lower()
    unit = UNITS.get(text[-1:], 1)
    number = number_of(text[:-1] if unit > 1 else text)
    return 0.0 if number is None else number * unit


def number_of(word: str) -> float | None:
    """A word as the engine's own reader would take it: decimal, hexadecimal, `inf` and `nan` in any spelling."""
    try:
        return float(word)
    except ValueError:
        pass
    lowered = word.lower().lstrip("+-")
    if lowered.startswith(("nan", "inf")):
        return math.nan
    if lowered.startswith("0x"):
        try:
            return float.fromhex(word)
        except OverflowError:
            return math.inf
        except ValueError:
            return None
    return None


def _titled(element: ET.Element) -> str:
    name = element.get("name")
    return f'<{element.tag} name="{name[:80]}">' if name else f"<{element.tag}>"
