/** Joins an RPC server, and joins again when the connection is lost. */
import {messageOf} from '../../runtime/src/values/types.ts';
import {type Activity, RpcDevice} from './device.ts';
import {type Frame, Kind, parseFrame, PROTOCOL, writeFrame} from './frame.ts';

export interface JoinOptions {
  /** ws://HOST:PORT/rpc */
  readonly url: string;
  readonly token: string;
  readonly name: string;
  /** The same name with the same session takes the place of a connection that is still thought alive. */
  readonly session: string;
  readonly targets: readonly string[];
  /** A line for people: browser, adapter. */
  readonly about: string;
  readonly WebSocket: typeof WebSocket;
  /** The name that it has there; undefined: not connected, with the reason. */
  readonly onStatus?: (name: string | undefined, reason?: string) => void;
  readonly onActivity?: (activity: Activity) => void;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

const FIRST_WAIT = 250; // ms, and each twice as long
const LONGEST_WAIT = 5000;

/** Resolves when the signal ends it; rejects when the server refuses it. */
export async function join(options: JoinOptions): Promise<void> {
  const device = new RpcDevice(options.onActivity);
  let wait = FIRST_WAIT;
  while (!options.signal?.aborted) {
    const {refused, joined, reason} = await connection(options, device);
    options.onStatus?.(undefined, reason);
    if (refused !== undefined) throw new Error(refused);
    wait = joined ? FIRST_WAIT : Math.min(2 * wait, LONGEST_WAIT);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

interface Ended {
  readonly joined: boolean;
  readonly reason: string;
  readonly refused?: string;
}

/** One connection, until it ends. */
function connection(options: JoinOptions, device: RpcDevice): Promise<Ended> {
  return new Promise((resolve) => {
    const socket = new options.WebSocket(options.url);
    socket.binaryType = 'arraybuffer';
    let joined = false;
    let refused: string | undefined;
    const send = (...frame: Parameters<typeof writeFrame>): void => {
      if (socket.readyState === options.WebSocket.OPEN) socket.send(writeFrame(...frame));
    };
    options.signal?.addEventListener('abort', () => socket.close(), {once: true});
    socket.onopen = () => {
      const {token, name, session, targets, about} = options;
      send(0, 0, Kind.request, {do: 'hello', protocol: PROTOCOL, role: 'device', token, name, session, targets, about});
    };
    const serve = async ({peer, id, json, payload}: Frame): Promise<void> => {
      try {
        if (!json) throw new Error('the request is malformed');
        const answer = await device.answer(peer, json, payload);
        send(peer, id, Kind.answer, answer.json, answer.payload);
      } catch (problem) {
        send(peer, id, Kind.error, {message: messageOf(problem)});
      }
    };
    socket.onmessage = ({data}) => {
      const frame = parseFrame(data as ArrayBuffer);
      if (frame.kind === Kind.request) void serve(frame);
      else if (frame.kind === Kind.gone) device.leave(frame.peer);
      else if (frame.kind === Kind.answer) {
        joined = true;
        options.onStatus?.(String(frame.json?.['name']));
      } else if (frame.kind === Kind.error) refused = String(frame.json?.['message']);
    };
    socket.onclose = ({reason}) => {
      resolve({joined, reason: reason || 'the server is not there', ...(refused === undefined ? {} : {refused})});
    };
    socket.onerror = () => undefined; // close follows
  });
}
