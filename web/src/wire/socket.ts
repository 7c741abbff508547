// The log lane: one socket that is opened again whenever it is lost, and goes on where it was.

import type { FollowAsk, FromServer, ListAsk, UnfollowAsk } from "../generated/messages";
import { PROTOCOL } from "../generated/messages";
import { urlOf } from "./api";

export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "lost"; since: number; retryAt: number }
  | { state: "refused"; why: string };

type Handler = (push: FromServer) => void;

const REFUSALS: Record<number, string> = {
  4401: "This page has no token any more. Open the link that paddock serve printed.",
  4403: "The server does not serve pages of this address. Open the link that paddock serve printed.",
};
const SLOWEST_MS = 5000;
/** A socket that has said nothing and does not close is found out by its handshake alone; this is how long that may take. */
const HANDSHAKE_MS = 8000;

/** What was asked is asked again after each new connection, until it is taken back. */
export class LogLane {
  connection: Connection = { state: "connecting" };
  private socket: WebSocket | null = null;
  private readonly handlers = new Set<Handler>();
  private readonly watchers = new Set<(connection: Connection) => void>();
  private readonly standing = new Map<string, () => ListAsk | FollowAsk>();
  private attempts = 0;
  private timer = 0;
  private lostSince = 0;
  private closed = false;

  open(): void {
    window.clearTimeout(this.timer);
    const url = urlOf("live").replace(/^http/, "ws");
    const socket = new WebSocket(url, `paddock.v${PROTOCOL}`);
    this.socket = socket;
    this.timer = window.setTimeout(() => socket.close(), HANDSHAKE_MS);
    socket.onopen = () => this.opened();
    socket.onmessage = (event) => this.heard(event);
    socket.onclose = (event) => this.lost(event);
  }

  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
    this.socket?.close();
  }

  /** Try again at once, for one who does not want to wait. */
  retry(): void {
    if (this.connection.state === "lost") this.open();
  }

  /** Ask now and after each reconnect; `ask` is called each time, so that it may carry the latest cursor. */
  keep(key: string, ask: () => ListAsk | FollowAsk): void {
    this.standing.set(key, ask);
    this.send(ask());
  }

  drop(key: string, parting?: UnfollowAsk): void {
    this.standing.delete(key);
    if (parting) this.send(parting);
  }

  onPush(handler: Handler): () => void {
    this.handlers.add(handler);
    return () => this.handlers.delete(handler);
  }

  onConnection(watcher: (connection: Connection) => void): () => void {
    this.watchers.add(watcher);
    watcher(this.connection);
    return () => this.watchers.delete(watcher);
  }

  private send(ask: ListAsk | FollowAsk | UnfollowAsk): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(ask));
  }

  private opened(): void {
    window.clearTimeout(this.timer);
    this.attempts = 0;
    this.lostSince = 0;
    this.become({ state: "live" });
    for (const ask of this.standing.values()) this.send(ask());
  }

  private heard(event: MessageEvent): void {
    if (typeof event.data !== "string") return;
    const push = JSON.parse(event.data) as FromServer;
    for (const handler of this.handlers) handler(push);
  }

  private lost(event: CloseEvent): void {
    window.clearTimeout(this.timer);
    this.socket = null;
    if (this.closed) return;
    const why = REFUSALS[event.code];
    if (why) return this.become({ state: "refused", why });
    this.lostSince ||= Date.now();
    const wait = Math.min(SLOWEST_MS, 250 * 2 ** this.attempts++) * (0.8 + 0.4 * Math.random());
    this.become({ state: "lost", since: this.lostSince, retryAt: Date.now() + wait });
    this.timer = window.setTimeout(() => this.open(), wait);
  }

  private become(connection: Connection): void {
    this.connection = connection;
    for (const watcher of this.watchers) watcher(connection);
  }
}
