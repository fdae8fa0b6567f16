/** A device that others use over RPC: it takes files, loads models, runs them. */
import {load, type DeviceKind, type DType, type Feed, type Model, tensor} from '../../runtime/src/index.ts';
import {decode, encode} from '../../runtime/src/values/encoding.ts';
import {isDType} from '../../runtime/src/values/types.ts';
import {runJob} from './job.ts';
import {Store} from './store.ts';

interface WireTensor {
  readonly name: string;
  readonly dtype: DType | 'string';
  readonly shape: readonly number[];
  readonly bytes: number;
}

type Request = Readonly<Record<string, unknown>>;

export interface DeviceAnswer {
  readonly json: object;
  readonly payload?: readonly Uint8Array[];
}

/** What a page shows. */
export interface Activity {
  readonly models: number;
  readonly runs: number;
  /** Of files and tensors that came. */
  readonly bytes: number;
  readonly last?: string;
}

function feedsOf(inputs: readonly WireTensor[], payload: Uint8Array<ArrayBuffer>): Record<string, Feed> {
  let at = 0;
  return Object.fromEntries(inputs.map(({name, dtype, shape, bytes}): [string, Feed] => {
    if (at + bytes > payload.length) throw new Error(`tensor "${name}" is longer than its frame`);
    const elements = payload.slice(at, at + bytes);
    at += bytes;
    if (dtype === 'string') {
      return [name, {data: JSON.parse(new TextDecoder().decode(elements)) as string[], shape, dtype}];
    }
    if (!isDType(dtype)) throw new Error(`tensor "${name}" is of type ${String(dtype)}`);
    return [name, tensor(decode(elements, dtype), shape, dtype)];
  }));
}

export class RpcDevice {
  readonly #store = new Store();
  readonly #models = new Map<number, {readonly model: Model; readonly client: number}>();
  readonly #onActivity: (activity: Activity) => void;
  #next = 1;
  #runs = 0;
  #bytes = 0;
  #last: string | undefined;
  /** Loads and runs take turns, so that times are those of one run alone. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(onActivity: (activity: Activity) => void = () => undefined) {
    this.#onActivity = onActivity;
  }

  /** Answers a request; rejects with what the client is told. */
  async answer(client: number, request: Request, payload: Uint8Array<ArrayBuffer>): Promise<DeviceAnswer> {
    this.#bytes += payload.length;
    switch (request['do']) {
      case 'have': {
        const files = request['files'] as readonly {readonly hash: string}[];
        return {json: {missing: files.map(({hash}) => hash).filter((hash) => !this.#store.has(hash))}};
      }
      case 'put':
        await this.#store.put(request['hash'] as string, request['at'] as number, request['bytes'] as number, payload);
        return {json: {}};
      case 'load':
        return this.#inTurn(() => this.#load(client, request));
      case 'run':
        return this.#inTurn(() => this.#run(request, payload));
      case 'free':
        return this.#inTurn(() => {
          this.#free(request['model'] as number);
          return Promise.resolve({json: {}});
        });
      default:
        throw new Error(`this device does not know the request ${JSON.stringify(request['do'])}`);
    }
  }

  /** A client has left: what it loaded goes. */
  leave(client: number): void {
    void this.#inTurn(() => {
      for (const [number, one] of this.#models) if (one.client === client) this.#free(number);
      return Promise.resolve();
    });
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined).then(() => this.#tell());
    return done;
  }

  #tell(): void {
    const last = this.#last === undefined ? {} : {last: this.#last};
    this.#onActivity({models: this.#models.size, runs: this.#runs, bytes: this.#bytes, ...last});
  }

  #free(number: number): void {
    this.#models.get(number)?.model.dispose();
    this.#models.delete(number);
  }

  async #load(client: number, request: Request): Promise<DeviceAnswer> {
    const listed = request['files'] as readonly {readonly name: string; readonly hash: string}[];
    const files = new Map(listed.map(({name, hash}) => [name, this.#store.get(hash)]));
    const threads = request['threads'] as number | undefined;
    const model = await load(files, {device: request['target'] as DeviceKind, ...(threads ? {threads} : {})});
    const number = this.#next++;
    this.#models.set(number, {model, client});
    return {json: {model: number, report: model.report()}};
  }

  async #run(request: Request, payload: Uint8Array<ArrayBuffer>): Promise<DeviceAnswer> {
    const found = this.#models.get(request['model'] as number);
    if (!found) throw new Error('there is no such model here (any more): load it');
    const {model} = found;
    const feeds = feedsOf(request['inputs'] as readonly WireTensor[], payload);
    const {outputs, ...rest} = await runJob(model, feeds, {
      runs: request['runs'] as number | undefined,
      bench: request['bench'] as 'runs' | 'profile' | undefined,
      kernels: request['kernels'] as readonly number[] | undefined,
      minMs: request['minMs'] as number | undefined,
    });
    this.#runs++;
    if (rest.ms !== undefined) this.#last = `${rest.ms.toFixed(2)} ms on ${model.report().device}`;
    const parts = await Promise.all(outputs.map(async (output) => output.dtype === 'string'
      ? new TextEncoder().encode(JSON.stringify(await output.data<string[]>()))
      : encode(await output.data(), output.dtype)));
    const described = outputs.map(({name, dtype, shape}, at) => ({name, dtype, shape, bytes: parts[at]?.byteLength ?? 0}));
    return {json: {outputs: described, ...rest}, payload: parts};
  }
}
