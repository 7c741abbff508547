"""Nobody comes in who should not: each way that is known to have worked elsewhere, on every verb and on the socket."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

import paddock
from brief_tasks import BRIEF_CARTPOLE
from cockpit_rig import Visitor, mounted, served, wait
from paddock.cockpit.guard import MAX_BODY, Door, door_for
from paddock.configuring import TrainConfig
from paddock.learn.ppo_config import PpoConfig

RUN = "20261101-120000-cartpole-balance-s0-aaaa"
VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ppo = PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
    config = TrainConfig(steps=64, num_worlds=8, num_threads=1, evaluate_episodes=1, ppo=ppo)
    return paddock.train(BRIEF_CARTPOLE, config=config, runs_dir=tmp_path_factory.mktemp("trained")).path


@pytest.fixture(scope="module")
def root(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("work") / "runs"
    shutil.copytree(trained, root / RUN)
    (root.parent / "secret.txt").write_text("not for you")
    return root


@pytest.fixture(scope="module")
def visitor(root: Path) -> Iterator[Visitor]:
    with served(root) as visitor:
        yield visitor


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", ["/c/runs", f"/c/runs/{RUN}/delete", "/"])
def test_a_host_that_is_not_ours_is_refused_first(visitor: Visitor, verb: str, path: str) -> None:
    for host in (
        "evil.example",
        f"evil.example:{visitor.port}",
        "127.0.0.1",
        f"127.0.0.1:{visitor.port + 1}",
        f"127.0.0.1.evil.example:{visitor.port}",
    ):
        assert visitor.ask(verb, path, host_=host).status == 421


@pytest.mark.parametrize("verb", VERBS)
def test_a_name_that_was_rebound_is_refused_although_host_and_origin_agree(visitor: Visitor, verb: str) -> None:
    host = f"evil.example:{visitor.port}"
    assert visitor.ask(verb, "/c/runs", host_=host, origin=f"http://{host}").status == 421


@pytest.mark.parametrize("verb", VERBS)
def test_a_foreign_origin_is_refused_on_every_verb(visitor: Visitor, verb: str) -> None:
    for origin in (EVIL, "null", f"http://127.0.0.1:{visitor.port + 1}", f"http://localhost.evil.example:{visitor.port}"):
        assert visitor.ask(verb, f"/c/runs/{RUN}/delete", origin=origin).status == 403
    assert RUN in visitor.rows()


def test_what_a_page_of_another_port_embeds_is_refused(visitor: Visitor) -> None:
    cookie = f"paddock_{visitor.port}={visitor.token}"  # which browsers send to every port of a host
    for site in ("same-site", "cross-site"):
        reply = visitor.get("/c/runs", authorization="", cookie=cookie, sec_fetch_site=site, sec_fetch_mode="no-cors")
        assert reply.status == 403
    assert visitor.get("/c/runs", authorization="", cookie=cookie, sec_fetch_site="same-origin").status == 200


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", ["/c/hello", "/c/runs", f"/c/runs/{RUN}", "/c/nothing", "/c", "/c/"])
def test_nothing_is_told_without_the_token(visitor: Visitor, verb: str, path: str) -> None:
    for shown in ("", "Bearer ", "Bearer x", f"Basic {visitor.token}", f"Bearer {visitor.token}x", "Bearer ünïcödé"):
        reply = visitor.ask(verb, path, authorization=shown.encode("latin-1", "replace").decode("latin-1"))
        assert reply.status == 401


def test_the_token_is_traded_for_a_cookie_and_leaves_the_address(visitor: Visitor) -> None:
    reply = visitor.get(f"/?token={visitor.token}", authorization="")
    assert (reply.status, reply.headers["location"]) == (303, "./")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and cookie.startswith(f"paddock_{visitor.port}=")
    named = cookie.partition(";")[0]
    assert visitor.get("/c/runs", authorization="", cookie=f'other={{"a":1}}; {named}; x').status == 200
    wrong = visitor.get("/?token=wrong", authorization="")
    assert wrong.status == 303 and "set-cookie" not in wrong.headers


TRAVERSALS = (
    "/c/runs/{run}/file/../../../secret.txt",
    "/c/runs/{run}/file/..%2f..%2f..%2fsecret.txt",
    "/c/runs/{run}/file/%2e%2e/%2e%2e/%2e%2e/secret.txt",
    "/c/runs/{run}/file/..%5c..%5csecret.txt",
    "/c/runs/{run}/file//etc/passwd",
    "/c/runs/{run}/file/%2fetc%2fpasswd",
    "/c/runs/{run}/file/recordings/..%2f..%2f..%2fsecret.txt",
    "/c/runs/{run}/file/run.json%00.png",
    "/c/runs/..%2f..%2f/file/secret.txt",
    "/c/runs/%2e%2e/file/secret.txt",
    "/c/runs/.cockpit/file/token",
    "/c/runs/trash",
    "/..%2f..%2f..%2fsecret.txt",
    "/%2e%2e/%2e%2e/guard.py",
    "/../guard.py",
    "//etc/passwd",
)


@pytest.mark.parametrize("spelling", TRAVERSALS)
def test_no_spelling_of_a_path_leads_out(visitor: Visitor, spelling: str) -> None:
    reply = visitor.get(spelling.format(run=RUN))
    assert reply.status == 404
    assert b"not for you" not in reply.body and b"root:" not in reply.body


@pytest.mark.parametrize("verb", ["delete", "archive", "restore", "tell", "stop"])
def test_no_id_is_a_path_for_what_moves_runs(visitor: Visitor, root: Path, verb: str) -> None:
    for run in ("..%2f" + root.name, "%2e%2e", ".", "trash", "archive", ".cockpit", "latest", RUN[:-2]):
        assert visitor.ask("POST", f"/c/runs/{run}/{verb}", {"do": "save"}).status in (404, 405)
    assert (root / RUN).is_dir()


def test_a_body_that_is_too_large_is_refused_with_or_without_a_length(visitor: Visitor) -> None:
    reply = visitor.ask("PATCH", f"/c/runs/{RUN}", b"x" * (MAX_BODY + 1))
    assert reply.status == 413 and "a request may carry 1,000,000 bytes" in reply.error
    with socket.create_connection(("127.0.0.1", visitor.port), timeout=20) as wire:
        head = f"PATCH /c/runs/{RUN} HTTP/1.1\r\nHost: 127.0.0.1:{visitor.port}\r\nAuthorization: Bearer {visitor.token}\r\n"
        wire.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(MAX_BODY // 65536 + 1):
            wire.sendall(chunk)
        assert wire.recv(1000).startswith(b"HTTP/1.1 413")


def test_nonsense_is_refused_and_nothing_breaks(visitor: Visitor) -> None:
    for body in (
        b"{",
        b"[]",
        b"null",
        b'{"title": 1}',
        b'{"nothing": 1}',
        b"\xff",
        b"[" * 10_000,
        b'{"title": "' + b"x" * 5000 + b'"}',
    ):
        reply = visitor.ask("PATCH", f"/c/runs/{RUN}", body)
        assert reply.status == 400 and reply.error
    assert visitor.rows()[RUN]["title"] == ""


def test_a_script_in_a_title_stays_text(visitor: Visitor) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    assert visitor.ask("PATCH", f"/c/runs/{RUN}", {"title": evil, "tags": [evil[:50]], "note": evil}).status == 200
    reply = visitor.get("/c/runs")
    assert reply.headers["content-type"] == "application/json" and reply.headers["x-content-type-options"] == "nosniff"
    assert visitor.rows()[RUN]["title"] == evil
    assert visitor.ask("PATCH", f"/c/runs/{RUN}", {"title": "", "tags": [], "note": ""}).status == 200


@pytest.mark.parametrize("path", ["/", "/c/runs", "/c/nothing", "/c/runs/x", f"/c/runs/{RUN}/file/run.json", "/nothing"])
def test_every_answer_is_locked_down(visitor: Visitor, path: str) -> None:
    for reply in (visitor.get(path), visitor.get(path, authorization=""), visitor.get(path, origin=EVIL)):
        headers = reply.headers
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-embedder-policy"] == "require-corp"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["script-src"] == "'self' 'wasm-unsafe-eval'" and policy["default-src"] == "'none'"
        assert "access-control-allow-origin" not in headers


def test_a_socket_wants_our_host_our_origin_and_the_token(visitor: Visitor) -> None:
    bearer = {"Authorization": f"Bearer {visitor.token}"}
    cookie = {"Cookie": f"paddock_{visitor.port}={visitor.token}"}
    ours = {"Origin": f"http://127.0.0.1:{visitor.port}"}
    refused = [
        ({**cookie}, 4403),  # a browser always says where it comes from
        ({**cookie, "Origin": EVIL}, 4403),
        ({**bearer, "Origin": "null"}, 4403),
        ({**cookie, "Origin": f"http://127.0.0.1:{visitor.port + 1}"}, 4403),
        ({**ours}, 4401),
        ({**ours, "Cookie": f"paddock_{visitor.port}=wrong"}, 4401),
        ({"Authorization": "Bearer wrong"}, 4401),
    ]
    for headers, code in refused:
        with visitor.socket(headers=headers) as line:
            assert line.closed()[0] == code
    for headers in ({**cookie, **ours}, bearer, {**cookie, "Origin": f"http://localhost:{visitor.port}"}):
        with visitor.socket(headers=headers) as line:
            line.say(do="list")
            assert line.kind("runs")["whole"]


def test_a_socket_with_a_forged_host_never_opens(visitor: Visitor) -> None:
    host = f"evil.example:{visitor.port}"
    with socket.create_connection(("127.0.0.1", visitor.port), timeout=10) as wire:
        lines = [
            "GET /c/live HTTP/1.1",
            f"Host: {host}",
            f"Origin: http://{host}",
            f"Cookie: paddock_{visitor.port}={visitor.token}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: paddock.v1",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        wire.sendall("\r\n".join([*lines, "", ""]).encode())
        assert wire.recv(1000).startswith(b"HTTP/1.1 421")


def test_another_protocol_and_words_that_are_none_end_a_socket_with_a_reason(visitor: Visitor) -> None:
    with visitor.socket(protocol="paddock.v9") as line:
        assert line.closed() == (4400, "this server speaks paddock.v1: load the page again.")
    for text, said in (
        ("{", "a message is JSON"),
        ('{"do": "fly"}', "unknown message 'fly'"),
        ('{"do": "ack"}', "AckAsk has do"),
        ("x" * 150_000, "a message may have"),
        (b"{}", "a page sends text"),
    ):
        with visitor.socket() as line:
            line.wire.send(text)
            code, reason = line.closed()
            assert code == 4400 and reason.startswith(said)


def test_names_that_were_allowed_are_ours_and_ports_belong_to_names() -> None:
    door = door_for(8600, token="t", allowed=("Lab.example.org", "lab.example.org:8600"))
    assert {"127.0.0.1:8600", "localhost:8600", "[::1]:8600", "lab.example.org", "lab.example.org:8600"} == door.hosts
    assert "https://lab.example.org" in door.origins() and "http://lab.example.org:9000" not in door.origins()
    assert "localhost" in door_for(80, token="t").hosts
    assert isinstance(door, Door)


def test_everything_works_below_a_prefix(trained: Path, tmp_path: Path) -> None:
    """As behind a proxy that puts it below a path, which a page then has in every address."""
    prefix, root = "/user/someone/proxy/8600", tmp_path / "runs"
    shutil.copytree(trained, root / RUN)

    def mounting(app: ASGIApp) -> ASGIApp:
        async def below(scope: Scope, receive: Receive, send: Send) -> None:
            assert scope["type"] == "lifespan" or scope["path"].startswith(prefix)
            await app(dict(scope) | {"root_path": prefix}, receive, send)

        return below

    with mounted(root, mounting) as visitor:
        assert RUN in {row["id"] for row in visitor.json(f"{prefix}/c/runs")["runs"]}
        assert visitor.get(f"{prefix}/c/runs", authorization="").status == 401
        assert visitor.get(f"{prefix}/c/runs/../../c/runs", authorization="").status == 401
        reply = visitor.get(f"{prefix}/?token={visitor.token}")
        assert (reply.status, reply.headers["location"]) == (303, "./") and "Path" not in reply.headers["set-cookie"]
        with visitor.socket(path=f"{prefix}/c/live") as line:
            line.say(do="list")
            assert line.kind("runs")["whole"]
        wait(lambda: visitor.get(f"{prefix}/").status in (200, 503))
