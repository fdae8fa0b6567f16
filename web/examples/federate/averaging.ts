/**
 * Federated averaging (McMahan et al., arXiv 1602.05629) as a server does it: rounds of weights, and what may count in one. No network,
 * no clock: callers say what time it is, in milliseconds.
 */
import {Pieces} from '../../runtime/src/package/pieces.ts';
import {readSafetensors} from '../../runtime/src/package/safetensors.ts';
import {elementsOf, type Layout, sizeOf} from './layout.ts';

export interface AveragingOptions {
  readonly rounds: number;
  /** Updates that a round wants. */
  readonly least: number;
  /** Of a page that was not heard of for so long nothing is expected any more. */
  readonly patience: number;
  /** Since its first update a round does not wait longer for pages that are there but give nothing. */
  readonly longest: number;
  /** Largest change of all weights in a round, as a part of their norm. */
  readonly mostChange: number;
}

export const DEFAULTS: AveragingOptions = {rounds: 10, least: 2, patience: 8_000, longest: 120_000, mostChange: 2};

const MOST_CLIENTS = 64;
/** A page whose updates were refused so often is not asked any more. */
const MOST_REFUSED = 3;

/** Why something is not taken, with the HTTP status that says so. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Client {
  seen: number;
  refused: number;
  /** The latest round in which it gave an update, or one was refused. */
  round: number;
}

interface Update {
  readonly weights: Float32Array;
  readonly examples: number;
}

/** Of changes, as Euclid has it. */
function distance(a: Float32Array, b: Float32Array | undefined): number {
  let sum = 0;
  for (let at = 0; at < a.length; ++at) sum += ((a[at] as number) - (b?.[at] ?? 0)) ** 2;
  return Math.sqrt(sum);
}

export class Averaging {
  readonly layout: Layout;
  readonly options: AveragingOptions;
  /** Of the round under way, from 1 on. */
  round = 1;
  weights: Float32Array;
  /** How many updates counted in each round that is over. */
  readonly counted: number[] = [];
  refusals = 0;
  readonly #clients = new Map<string, Client>();
  #updates: Update[] = [];
  #first: number | undefined;

  constructor(layout: Layout, weights: Float32Array, options: Partial<AveragingOptions> = {}) {
    this.layout = layout;
    this.weights = weights;
    this.options = {...DEFAULTS, ...options};
  }

  get over(): boolean {
    return this.round > this.options.rounds;
  }

  /** Pages that were heard of lately. */
  present(now: number): number {
    return this.#present(now).length;
  }

  #present(now: number): Client[] {
    return [...this.#clients.values()].filter(({seen, refused}) => now - seen <= this.options.patience && refused < MOST_REFUSED);
  }

  join(client: string, now: number): void {
    for (const [name, {seen}] of this.#clients) if (now - seen > 10 * this.options.patience) this.#clients.delete(name);
    if (this.#clients.size >= MOST_CLIENTS) throw new Refusal(503, `${MOST_CLIENTS} pages take part already`);
    this.#clients.set(client, {seen: now, refused: 0, round: 0});
  }

  /** The page is still there. */
  seen(client: string, now: number): void {
    const known = this.#clients.get(client);
    if (known) known.seen = now;
    this.#finish(now);
  }

  /** Takes a page's weights, learnt from those of this round with so many examples. Throws a Refusal, and all is as it was. */
  update(client: string, round: number, examples: number, file: Uint8Array, now: number): void {
    const known = this.#clients.get(client);
    if (!known) throw new Refusal(403, 'this page does not take part: it has to join first');
    known.seen = now;
    if (this.over || round !== this.round) throw new Refusal(409, `round ${round} is not under way`);
    if (known.refused >= MOST_REFUSED) throw new Refusal(403, `${MOST_REFUSED} updates of this page were refused: it does not take part any more`);
    if (known.round === round) throw new Refusal(409, `this page gave its update of round ${round} already`);
    known.round = round;
    try {
      this.#updates.push({weights: this.#checked(file, examples), examples});
    } catch (problem) {
      known.refused += 1;
      this.refusals += 1;
      this.#finish(now);
      throw problem;
    }
    this.#first ??= now;
    this.#finish(now);
  }

  #checked(file: Uint8Array, examples: number): Float32Array {
    if (!(Number.isInteger(examples) && examples > 0)) throw new Refusal(400, `${examples} examples: a whole number above 0 is wanted`);
    const weights = this.#read(file);
    if (!weights.every(Number.isFinite)) throw new Refusal(422, 'there are weights that are no finite numbers');
    const change = distance(weights, this.weights);
    const most = this.options.mostChange * distance(this.weights, undefined);
    if (change > most) throw new Refusal(422, `the weights moved by ${change.toPrecision(3)}; ${most.toPrecision(3)} at most is believed of one round`);
    return weights;
  }

  #read(file: Uint8Array): Float32Array {
    let stored: ReturnType<typeof readSafetensors>;
    try {
      stored = readSafetensors(new Pieces([file], false), 'the update');
    } catch (problem) {
      throw new Refusal(400, (problem as Error).message);
    }
    const names = this.layout.map(([name]) => name);
    if (stored.size !== names.length || !names.every((name) => stored.has(name))) throw new Refusal(422, `these are weights of another model: ${names.join(', ')} are wanted`);
    const weights = new Float32Array(elementsOf(this.layout));
    let at = 0;
    for (const [name, shape] of this.layout) {
      const {dtype, shape: given, begin, end} = stored.get(name) as NonNullable<ReturnType<typeof stored.get>>;
      if (dtype !== 'f32' || String(given) !== String(shape) || end - begin !== 4 * sizeOf(shape)) {
        throw new Refusal(422, `"${name}" is ${dtype} [${given.join(', ')}]; f32 [${shape.join(', ')}] is wanted`);
      }
      const view = new DataView(file.buffer, file.byteOffset + begin, end - begin);
      for (let byte = 0; byte < end - begin; byte += 4) weights[at++] = view.getFloat32(byte, true);
    }
    return weights;
  }

  /** Ends the round where nothing more is to be waited for. */
  #finish(now: number): void {
    const {least, longest} = this.options;
    if (this.#updates.length < least || this.over) return;
    const waited = now - (this.#first ?? now) > longest;
    if (!waited && this.#present(now).some(({round}) => round < this.round)) return;
    this.weights = this.#mean();
    this.counted.push(this.#updates.length);
    this.#updates = [];
    this.#first = undefined;
    this.round += 1;
  }

  /** Weighted by examples; nobody counts for more than the page in the middle says it has. */
  #mean(): Float32Array {
    const counts = this.#updates.map(({examples}) => examples).sort((a, b) => a - b);
    const most = counts[(counts.length - 1) >> 1] as number;
    const shares = this.#updates.map(({examples}) => Math.min(examples, most));
    const total = shares.reduce((sum, share) => sum + share, 0);
    return Float32Array.from({length: this.weights.length}, (_, at) =>
      this.#updates.reduce((sum, {weights}, which) => sum + ((shares[which] as number) / total) * (weights[at] as number), 0));
  }
}
