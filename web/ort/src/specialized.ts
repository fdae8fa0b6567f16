/** Models that ask for their feeds, compiled by them: where an output's rank, an axis or a shape is what only a run knows. */
import type {Feed, Model, Output, PortInfo, RunOptions} from '../../runtime/src/index.ts';
import {type Known, textOf} from './compiled.ts';
import {signatureOf} from './signature.ts';

/** What a session needs of a model. */
export type Runnable = Pick<Model, 'dispose' | 'groups' | 'inputs' | 'outputs' | 'run'>;

/** The compiler, or a run, must know more of the feeds. */
const asksForFeeds = (problem: unknown): boolean => problem instanceof Error && problem.message.includes('known when compiling');

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

/** From little to all that feeds say: which extents are 1; the values of small integer and boolean inputs after the first, of the first too; all shapes; both. */
function ways(feeds: readonly Named[]): Known[] {
  const isKnown = ([, {dtype, shape, data}]: Named): boolean =>
    ArrayBuffer.isView(data) && (/^[iu](8|16|32|64)$/.test(dtype) || dtype === 'bool') && shape.reduce((a, b) => a * b, 1) <= MOST_ELEMENTS;
  const values = (from: number): Known['values'] => Object.fromEntries(feeds.slice(from).filter(isKnown)) as Known['values'];
  const shapes = Object.fromEntries(feeds.map(([name, {shape}]) => [name, shape]));
  const ones = Object.fromEntries(feeds.map(([name, {shape}]) => [name, shape.map((extent) => (extent === 1 ? 1 : null))]));
  const others = Object.fromEntries(feeds.filter((feed) => !isKnown(feed)).map(([name, {shape}]) => [name, shape]));
  return [{shapes: ones}, {values: values(1)}, {values: values(0)}, {shapes}, {shapes: others, values: values(0)}];
}

class Specialized implements Runnable {
  readonly inputs: readonly PortInfo[];
  readonly outputs: readonly PortInfo[];
  readonly groups: Model['groups'];
  readonly #general: Model | undefined;
  readonly #load: (known: Known) => Promise<Model>;
  readonly #models = new Map<string, Promise<Model>>();
  /** Of the ways: those before it were not enough. */
  #first = 0;

  constructor(ports: Pick<Runnable, 'inputs' | 'outputs'>, general: Model | undefined, load: (known: Known) => Promise<Model>) {
    this.inputs = ports.inputs;
    this.outputs = ports.outputs;
    this.groups = general?.groups ?? [];
    this.#general = general;
    this.#load = load;
  }

  async run<Result extends Output | readonly Output[] | undefined = Output>(feeds: Readonly<Record<string, Feed>>, options?: RunOptions): Promise<Record<string, Result>> {
    let refusal: unknown;
    if (this.#general) {
      try {
        return await this.#general.run(feeds, options);
      } catch (problem) {
        if (!asksForFeeds(problem)) throw problem;
        refusal = problem;
      }
    }
    const given = Object.entries(feeds as Record<string, unknown>) as Named[];
    for (const [at, known] of ways(given).entries()) {
      if (at < this.#first) continue;
      const left = Object.fromEntries(Object.entries(feeds).filter(([name]) => !Object.hasOwn(known.values ?? {}, name)));
      try {
        const results = await (await this.#model(known)).run<Result>(left, options);
        this.#first = at;
        return results;
      } catch (problem) {
        if (!asksForFeeds(problem)) throw problem;
        refusal = problem;
      }
    }
    throw refusal as Error;
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
    this.#general?.dispose();
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
