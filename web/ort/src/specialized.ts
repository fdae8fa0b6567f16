/**
 * Models compiled by their feeds: where an output's rank, an axis or a shape is what only a run knows, and for shapes that come again
 * and again, whose kernels are faster.
 */
import type {Feed, Model, Output, RunOptions} from '../../runtime/src/index.ts';
import {env} from './env.ts';
import {type Known, textOf} from './known.ts';
import {type Port, signatureOf} from './signature.ts';

/** Of feeds, by the names of inputs. */
export type Shapes = Readonly<Record<string, readonly number[]>>;

/** What a session needs of a model. */
export interface Runnable extends Pick<Model, 'dispose' | 'groups' | 'run'> {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly specializedShapes: readonly Shapes[];
}

/** Two extents of one name differ. onnxruntime takes them where the operators do. */
const isUnequal = (problem: unknown): boolean => problem instanceof Error && /^input ".*" has \d+ along axis \d+ \(/.test(problem.message);

/** The compiler, or a run, must know more of the feeds. */
const asksForFeeds = (problem: unknown): boolean => problem instanceof Error && (problem.message.includes('known when compiling') || isUnequal(problem));

const cannotCompile = (problem: unknown): boolean => problem instanceof Error && problem.message.includes('cannot be compiled');

interface Given {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: unknown;
}
type Named = readonly [name: string, given: Given];

/** Of a tensor that a model may have to know: an axis, a shape, pads. */
const MOST_ELEMENTS = 1024;
/** That are kept for one session; the one unused for longest goes first. */
const MOST_MODELS = 8;
/** Shapes whose runs are counted: the lengths of a generation, of which each run has another, come and go uncounted. */
const MOST_COUNTED = 4;
/** Bytes on the device of a model that has a second one beside it for shapes that come again. */
const MOST_BYTES = 256 * 2 ** 20;

/**
 * From little to all that feeds say: which extents are 1; the values of small integer and boolean inputs after the first, of the first
 * too; all shapes; both. Inputs without a rank have theirs in each.
 */
function ways(feeds: readonly Named[], ports: readonly Port[]): Known[] {
  const isKnown = ([, {dtype, shape, data}]: Named): boolean =>
    ArrayBuffer.isView(data) && (/^[iu](8|16|32|64)$/.test(dtype) || dtype === 'bool') && shape.reduce((a, b) => a * b, 1) <= MOST_ELEMENTS;
  const shapes = Object.fromEntries(feeds.map(([name, {shape}]) => [name, shape]));
  const ones = Object.fromEntries(feeds.map(([name, {shape}]) => [name, shape.map((extent) => (extent === 1 ? 1 : null))]));
  const others = Object.fromEntries(feeds.filter((feed) => !isKnown(feed)).map(([name, {shape}]) => [name, shape]));
  const unranked = new Set(ports.filter(({shape}) => !shape).map(({name}) => name));
  const values = (from: number): Known => {
    const known = feeds.slice(from).filter(isKnown);
    const ranks = feeds.filter((feed) => unranked.has(feed[0]) && !known.includes(feed)).map(([name]) => [name, ones[name]]);
    return {constants: Object.fromEntries(known) as Known['constants'], ...(ranks.length > 0 && {shapes: Object.fromEntries(ranks) as Known['shapes']})};
  };
  return [{shapes: ones}, values(1), values(0), {shapes}, {...values(0), shapes: others}];
}

class Specialized implements Runnable {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly groups: Model['groups'];
  readonly #general: Model | undefined;
  readonly #load: (known: Known) => Promise<Model>;
  readonly #models = new Map<string, Promise<Model>>();
  /** Of the ways: those before it were not enough. */
  #first = 0;
  /** Whether shapes that come again get a model of their own. */
  readonly #isOpen: boolean;
  /** Runs of the general model by the shapes of their feeds, the latest ones. */
  readonly #runs = new Map<string, number>();
  readonly #ready = new Map<string, {readonly model: Model; readonly shapes: Shapes}>();
  #isDisposed = false;

  get specializedShapes(): readonly Shapes[] {
    return Array.from(this.#ready.values(), ({shapes}) => shapes);
  }

  constructor(ports: Pick<Runnable, 'inputs' | 'outputs'>, general: Model | undefined, load: (known: Known) => Promise<Model>) {
    this.inputs = ports.inputs;
    this.outputs = ports.outputs;
    this.groups = general?.groups ?? [];
    this.#general = general;
    this.#load = load;
    // States that grow in the general model's memory would be moved between models, and the next run, which lacks its memory, be counted too.
    const growsInPlace = general?.parts.manifest.dims.some(({rows}) => rows !== undefined);
    this.#isOpen = general !== undefined && !growsInPlace && ports.inputs.some(({shape}) => shape?.some((extent) => typeof extent === 'string'));
  }

  async run<Result extends Output | readonly Output[] | undefined = Output>(feeds: Readonly<Record<string, Feed>>, options?: RunOptions): Promise<Record<string, Result>> {
    let refusal: unknown;
    const special = this.#specialFor(feeds);
    if (this.#general) {
      try {
        return await (special ?? this.#general).run(feeds, options);
      } catch (problem) {
        if (!asksForFeeds(problem)) throw problem;
        refusal = problem;
      }
    }
    const given = Object.entries(feeds as Record<string, unknown>) as Named[];
    for (const [at, known] of ways(given, this.inputs).entries()) {
      if (at < this.#first) continue;
      const left = Object.fromEntries(Object.entries(feeds).filter(([name]) => !Object.hasOwn(known.constants ?? {}, name)));
      try {
        const results = await (await this.#model(known)).run<Result>(left, options);
        this.#first = at;
        return results;
      } catch (problem) {
        // The names tell more than what the operators make of the shapes.
        if (!asksForFeeds(problem)) throw isUnequal(refusal) && cannotCompile(problem) ? refusal : problem;
        refusal = problem;
      }
    }
    throw refusal as Error;
  }

  /** The model for these shapes, where they came often and it is there. Compiled in the background, and never where that fails. */
  #specialFor(feeds: Readonly<Record<string, Feed>>): Model | undefined {
    const after = env.gossamer.specializeAfter;
    if (!this.#isOpen || after <= 0) return undefined;
    let key = '';
    for (const {name} of this.inputs) key += `${(feeds[name] as {readonly shape?: readonly number[]} | undefined)?.shape?.join()};`;
    const ready = this.#ready.get(key);
    if (ready) return ready.model;
    const runs = (this.#runs.get(key) ?? 0) + 1;
    this.#runs.delete(key);
    this.#runs.set(key, runs);
    // A cache that grows has other shapes in each run.
    const [oldest = ''] = this.#runs.keys();
    if (this.#runs.size > MOST_COUNTED) this.#runs.delete(oldest);
    if (runs === after && this.#ready.size < MOST_MODELS && (this.#general as Model).report().memory.persistent <= MOST_BYTES) {
      const shapes: Shapes = Object.fromEntries(Object.entries(feeds as Record<string, {readonly shape?: readonly number[]}>).map(([name, {shape = []}]) => [name, shape]));
      const made = this.#load({shapes});
      made.then((model) => (this.#isDisposed ? model.dispose() : this.#ready.set(key, {model, shapes})), () => undefined);
    }
    return undefined;
  }

  #model(known: Known): Promise<Model> {
    const key = textOf(known);
    const model = this.#models.get(key) ?? this.#load(known);
    this.#models.delete(key);
    this.#models.set(key, model);
    model.catch(() => this.#models.delete(key));
    const [[oldest, unused] = []] = this.#models;
    if (oldest !== undefined && this.#models.size > MOST_MODELS) {
      this.#models.delete(oldest);
      void unused?.then((each) => each.dispose(), () => undefined);
    }
    return model;
  }

  dispose(): void {
    this.#isDisposed = true;
    this.#general?.dispose();
    for (const {model} of this.#ready.values()) model.dispose();
    for (const model of this.#models.values()) void model.then((each) => each.dispose(), () => undefined);
    this.#models.clear();
  }
}

/** The model as `load` makes it of nothing known; where that, or a run, asks for feeds, one by each kind of them. `kept`: inputs with a default that it takes. */
export async function specializing(model: Uint8Array, load: (known: Known) => Promise<Model>, kept: readonly string[] = []): Promise<Runnable> {
  try {
    const general = await load({});
    return new Specialized(general, general, load);
  } catch (problem) {
    const ports = asksForFeeds(problem) ? signatureOf(model, kept) : undefined;
    if (!ports) throw problem;
    return new Specialized(ports, undefined, load);
  }
}
