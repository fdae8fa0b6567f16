/** Averaging over HTTP, for a server of Node's. Pages send weights; there is no way to send anything else. */
import {randomUUID} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';

import {Averaging, type AveragingOptions, Refusal} from './averaging.ts';
import {DIGITS, elementsOf, initial, toFile} from './layout.ts';

/** What a header may take besides the weights. */
const ROOM = 64 * 1024;

/** What pages are told: GET state?client=ID. */
export interface State {
  readonly round: number;
  readonly rounds: number;
  readonly over: boolean;
  /** Pages that were heard of lately. */
  readonly present: number;
  readonly refusals: number;
  /** How many updates counted in each round that is over. */
  readonly counted: readonly number[];
}

/** Answers a request; `rest` is its path below where the federation is. */
export type Answer = (rest: string, request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The whole body, of so many bytes at most. */
async function bodyOf(request: IncomingMessage, most: number): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += (piece as Buffer).length;
    if (size > most) throw new Refusal(413, `an update has ${most} bytes at most`);
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces);
}

/**
 * POST join gives {client}; GET weights?round=N a safetensors file; POST update?client=ID&round=N&examples=N takes one. What is refused
 * has a status from 400 on and says why as text.
 */
export function federation(options: Partial<AveragingOptions> = {}, seed = 1): {readonly averaging: Averaging; readonly answer: Answer} {
  const averaging = new Averaging(DIGITS, initial(DIGITS, seed), options);
  const most = 4 * elementsOf(DIGITS) + ROOM;

  async function act(method: string, rest: string, query: URLSearchParams, request: IncomingMessage): Promise<unknown> {
    const [client, round] = [query.get('client') ?? '', Number(query.get('round'))];
    if (method === 'GET' && rest === '/state') {
      averaging.seen(client, Date.now());
      const {over, counted, refusals, options: {rounds}} = averaging;
      return {round: averaging.round, rounds, over, present: averaging.present(Date.now()), refusals, counted} satisfies State;
    }
    if (method === 'POST' && rest === '/join') {
      const name = randomUUID();
      averaging.join(name, Date.now());
      return {client: name};
    }
    if (method === 'GET' && rest === '/weights') {
      if (round !== averaging.round) throw new Refusal(409, `round ${round} is not under way`);
      return toFile(averaging.layout, averaging.weights);
    }
    if (method === 'POST' && rest === '/update') {
      averaging.update(client, round, Number(query.get('examples')), await bodyOf(request, most), Date.now());
      return {};
    }
    throw new Refusal(404, `there is no ${method} ${rest}`);
  }

  return {
    averaging,
    async answer(rest, request, response) {
      const {searchParams} = new URL(request.url ?? '/', 'http://x');
      try {
        const made = await act(request.method ?? 'GET', rest, searchParams, request);
        const bytes = made instanceof Uint8Array;
        response.setHeader('Content-Type', bytes ? 'application/octet-stream' : 'application/json');
        response.end(bytes ? made : JSON.stringify(made));
      } catch (problem) {
        if (!(problem instanceof Refusal)) throw problem;
        // What is left of a body that is too long is not read.
        response.writeHead(problem.status, {'Content-Type': 'text/plain; charset=utf-8', Connection: 'close'}).end(problem.message);
      }
    },
  };
}
