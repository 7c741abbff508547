/** The view lane: one socket that shows one run or play. The newest frame counts; the next one comes when this one was drawn. */

import {
  PROTOCOL,
  type FromServer,
  type PlayPush,
  type RefusedPush,
  type ToServer,
  type TroublePush,
  type WatchingPush,
} from "../generated/messages";
import { decodeFrame, type Frame } from "./frames";

export interface ViewEvents {
  frame: (frame: Frame) => void;
  watching: (push: WatchingPush) => void;
  play: (push: PlayPush) => void;
  refused: (push: RefusedPush) => void;
  trouble: (push: TroublePush) => void;
  /** Whether somebody answers at the other end. */
  connected: (live: boolean) => void;
}

export type ViewAsk = Extract<ToServer, { do: "watch" | "play" }>;

const SLOWEST_MS = 5000;

export class ViewLane {
  private socket: WebSocket | null = null;
  private wanted: ViewAsk | null = null;
  private stream = -1;
  private attempts = 0;
  private timer = 0;
  private closed = false;
  private readonly seen = () => this.ask();

  constructor(
    private readonly url: string,
    private readonly on: ViewEvents,
  ) {
    document.addEventListener("visibilitychange", this.seen);
  }

  /** Show this, in place of what was shown; asked again after a lost connection. */
  show(wanted: ViewAsk): void {
    this.wanted = wanted;
    if (this.socket === null) this.open();
    else this.ask();
  }

  tell(play: string, what: Record<string, unknown>): void {
    this.send({ do: "tell", play, what });
  }

  /** It was drawn: the next one may come. */
  ack(frame: Frame): void {
    if (frame.stream === this.stream) this.send({ do: "ack", stream: frame.stream, seq: frame.seq });
  }

  close(): void {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.seen);
    window.clearTimeout(this.timer);
    this.socket?.close();
  }

  private open(): void {
    window.clearTimeout(this.timer);
    const socket = new WebSocket(this.url, `paddock.v${PROTOCOL}`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.attempts = 0;
      this.on.connected(true);
      this.ask();
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.heard(JSON.parse(data) as FromServer);
      else this.received(data);
    };
    socket.onclose = () => this.lost();
  }

  /** Ask for what is wanted; for nothing while nobody sees the page. */
  private ask(): void {
    if (this.wanted !== null) this.send(document.hidden ? { do: "unwatch" } : this.wanted);
  }

  private send(ask: ToServer): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(ask));
  }

  private heard(push: FromServer): void {
    if (push.kind === "watching") {
      this.stream = push.stream;
      this.on.watching(push);
    } else if (push.kind === "play") this.on.play(push);
    else if (push.kind === "refused") this.on.refused(push);
    else if (push.kind === "trouble") this.on.trouble(push);
  }

  private received(data: ArrayBuffer): void {
    const frame = decodeFrame(data);
    if (frame.stream === this.stream) this.on.frame(frame); // others belong to what was shown before
  }

  private lost(): void {
    this.socket = null;
    this.stream = -1;
    if (this.closed) return;
    this.on.connected(false);
    const wait = Math.min(SLOWEST_MS, 300 * 2 ** this.attempts++) * (0.8 + 0.4 * Math.random());
    this.timer = window.setTimeout(() => this.open(), wait);
  }
}
