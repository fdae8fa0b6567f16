/** Frames of docs/specs/rpc.md: 16 bytes, JSON, a payload. The counterpart of rpc/frame.h. */

export const PROTOCOL = 1;
const PREFIX = 16;

export const Kind = {request: 0, answer: 1, error: 2, progress: 3, gone: 4} as const;

export interface Frame {
  /** Who asks; 0 is the server. */
  readonly peer: number;
  readonly id: number;
  readonly kind: number;
  /** An object; undefined where the text is none. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  /** A view of the message. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

export function writeFrame(
  peer: number, id: number, kind: number, json: object, payload: readonly Uint8Array[] = [],
): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const bytes = payload.reduce((sum, part) => sum + part.byteLength, 0);
  const message = new Uint8Array(PREFIX + text.length + bytes);
  const view = new DataView(message.buffer);
  [peer, id, kind, text.length].forEach((word, at) => view.setUint32(4 * at, word, true));
  message.set(text, PREFIX);
  let at = PREFIX + text.length;
  for (const part of payload) {
    message.set(part, at);
    at += part.byteLength;
  }
  return message;
}

function objectIn(text: string): Frame['json'] {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? json as Frame['json'] : undefined;
  } catch {
    return undefined;
  }
}

/** Throws where the message is no frame. */
export function parseFrame(message: ArrayBuffer): Frame {
  if (message.byteLength < PREFIX) throw new Error('a frame is shorter than its prefix');
  const view = new DataView(message);
  const [peer = 0, id = 0, kind = 0, length = 0] = [0, 4, 8, 12].map((at) => view.getUint32(at, true));
  if (length > message.byteLength - PREFIX) throw new Error('a frame is shorter than its JSON');
  const text = new TextDecoder().decode(new Uint8Array(message, PREFIX, length));
  return {peer, id, kind, json: objectIn(text), payload: new Uint8Array(message, PREFIX + length)};
}
