/** Frames of live poses (PDKF): a head of 32 bytes, ages, world numbers, qpos, and a tail of JSON about the world in focus. */

import { FRAME_HEAD_BYTES, type FrameTail } from "../generated/messages";

const MAGIC = 0x464b4450; // "PDKF", little-endian
const VERSION = 1;
const KIND_POSES = 1;

/** A thing of the task to be drawn: a goal, a command. */
export interface Marker {
  name: string;
  kind: "sphere" | "arrow" | "ring";
  pos: number[];
  to?: number[];
  size: number;
  rgba: number[];
}

/** What a camera of the task saw. */
export interface CameraPicture {
  width: number;
  height: number;
  channels: number;
  /** base64 of the rows, a byte per channel */
  data: string;
}

export interface Frame {
  stream: number;
  seq: number;
  envSteps: number;
  /** Number of worlds. */
  n: number;
  nq: number;
  /** Control steps since each world's episode began. */
  ages: Uint32Array;
  worlds: Uint32Array;
  /** One row of nq numbers per world. */
  qpos: Float32Array;
  tail: FrameTail;
}

const NO_TAIL: FrameTail = { dropped: 0, steps_per_s: 0, world: -1 };
const text = new TextDecoder();

/** Views of the message's own bytes; throws an Error that says what is wrong with it. */
export function decodeFrame(data: ArrayBuffer): Frame {
  const view = new DataView(data);
  if (data.byteLength < FRAME_HEAD_BYTES || view.getUint32(0, true) !== MAGIC) throw new Error("a binary message that is no frame");
  if (view.getUint8(4) !== VERSION || view.getUint8(5) !== KIND_POSES) {
    throw new Error(`a frame of version ${view.getUint8(4)} and kind ${view.getUint8(5)}; this page reads version ${VERSION}`);
  }
  const n = view.getUint32(12, true);
  const nq = view.getUint32(16, true);
  const tailBytes = view.getUint32(20, true);
  const qposAt = FRAME_HEAD_BYTES + 8 * n;
  const tailAt = qposAt + 4 * n * nq;
  if (data.byteLength !== tailAt + tailBytes) {
    throw new Error(`a frame of ${data.byteLength} bytes whose head promises ${tailAt + tailBytes}`);
  }
  return {
    stream: view.getUint16(6, true),
    seq: view.getUint32(8, true),
    envSteps: view.getFloat64(24, true),
    n,
    nq,
    ages: new Uint32Array(data, FRAME_HEAD_BYTES, n),
    worlds: new Uint32Array(data, FRAME_HEAD_BYTES + 4 * n, n),
    qpos: new Float32Array(data, qposAt, n * nq),
    tail: tailBytes > 0 ? (JSON.parse(text.decode(new Uint8Array(data, tailAt, tailBytes))) as FrameTail) : NO_TAIL,
  };
}
