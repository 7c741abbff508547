"""Somebody who watches a run: reads binary frames off a live.sock until its input ends, then prints how many and how large.

python bench/one_viewer.py runs/ID/live.sock --worlds 16 --hz 30
"""

import argparse
import json
import select
import sys
from pathlib import Path
from socket import AF_UNIX, socket

from paddock.runs.frames import unpack
from paddock.runs.sockets import address_of, line_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--hz", type=float, default=30.0)
    asked = parser.parse_args()
    frames = size = 0
    with socket(AF_UNIX) as wire, address_of(asked.path) as address:
        wire.connect(address)
        wish = {"do": "subscribe", "worlds": list(range(asked.worlds)), "hz": asked.hz, "format": "binary"}
        wire.sendall(line_of(wish))
        heard = b""
        while wire in (ready := select.select([wire, sys.stdin], [], [])[0]) or not ready:
            heard += wire.recv(2**20)
            head, newline, rest = heard.partition(b"\n")
            while newline:
                length = json.loads(head).get("bytes", 0)  # the answer to the wish has none
                if len(rest) < length:
                    break
                if length:
                    assert len(unpack(rest[:length]).worlds) == asked.worlds
                    frames, size = frames + 1, size + length
                heard = rest[length:]
                head, newline, rest = heard.partition(b"\n")
    print(json.dumps({"frames": frames, "bytes": size}))


if __name__ == "__main__":
    main()
