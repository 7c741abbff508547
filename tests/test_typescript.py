"""The page's types are the messages': made from them, committed, never stale."""

import ast
from pathlib import Path

import pytest

from paddock import typescript
from paddock.errors import PaddockError
from paddock.messages import from_json
from paddock.messages.cockpit import FollowAsk, Job, LabelChange

COMMITTED = Path(__file__).parents[1] / typescript.OUT


def test_the_committed_types_are_those_of_the_messages() -> None:
    assert COMMITTED.read_text() == typescript.typescript(), "stale: run `python -m paddock.typescript` and commit what it wrote"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("tuple[int, ...]", "number[]"),
        ("tuple[float | None, ...]", "(number | null)[]"),
        ("tuple[str, bool]", "[string, boolean]"),
        ("dict[str, tuple[float, ...]] | None", "Record<string, number[]> | null"),
        ("Literal['a', 'b']", '"a" | "b"'),
        ("Vec3", "Vec3"),
    ],
)
def test_types(written: str, wanted: str) -> None:
    assert typescript._type(ast.parse(written, mode="eval").body) == wanted


def test_a_type_without_a_word_for_it_is_refused() -> None:
    with pytest.raises(PaddockError, match=r"set\[int\]"):
        typescript._type(ast.parse("set[int]", mode="eval").body)


def test_what_has_a_default_may_be_missing_but_never_what_tells_messages_apart() -> None:
    text = typescript.typescript()
    assert '  do: "follow";' in text
    assert "  cursor?: Record<string, unknown> | null;" in text


def test_messages_are_read_strictly() -> None:
    assert from_json(FollowAsk, '{"do": "follow", "run": "a"}') == FollowAsk(run="a")
    assert from_json(LabelChange, '{"tags": ["a"]}') == LabelChange(tags=("a",))
    with pytest.raises(PaddockError, match=r"FollowAsk\.do is 'list', wanted one of 'follow'"):
        from_json(FollowAsk, '{"do": "list", "run": "a"}')
    with pytest.raises(PaddockError, match="Job has nothing; wanted exactly id"):
        from_json(Job, "{}")
