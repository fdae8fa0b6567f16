/** What is done with a loaded model for somebody elsewhere: run it, or time it. */
import type {Feed, Model, Output, Profile, Report, StringTensor, Tensor} from '../../runtime/src/index.ts';

export interface JobOptions {
  /** How often to run; `ms` is the fastest. */
  readonly runs?: number | undefined;
  /** Only times: of `runs` runs after one more, or of the kernels too. There are no outputs then. */
  readonly bench?: 'runs' | 'profile' | undefined;
  /** Of a profile: ProfileOptions of the run time. */
  readonly kernels?: readonly number[] | undefined;
  readonly minMs?: number | undefined;
}

/** What was timed; milliseconds. */
export interface Bench {
  readonly adapter: string;
  readonly times: readonly number[];
  readonly profile?: Profile;
  readonly table?: string;
  readonly trace?: string;
}

export interface JobAnswer {
  readonly outputs: readonly Output[];
  readonly report?: Report;
  readonly ms?: number;
  readonly bench?: Bench;
}

type Feeds = Record<string, Feed>;
type Outputs = Record<string, Output | readonly Output[] | undefined>;

/** How long it takes, and no values but those that a run reads back. */
export async function time(model: Model, feeds: Readonly<Feeds>, options: JobOptions): Promise<Bench> {
  const {adapter} = model.report();
  const {runs = 1, bench, kernels, minMs} = options;
  if (bench === 'profile') {
    const found = await model.profile(feeds, {runs, kernels, minMs});
    return {adapter, times: [], profile: found, table: found.table(), trace: found.trace()};
  }
  const times: number[] = [];
  for (let turn = -1; turn < runs; ++turn) {
    const begin = performance.now();
    const outputs = Object.values(await model.run<Outputs[string]>(feeds));
    await Promise.all(outputs.flatMap((value) => value ?? []).map((output) => output.data()));
    if (turn >= 0) times.push(performance.now() - begin);
  }
  return {adapter, times};
}

/** `given`: the elements of sequences one by one, by the names of the package's inputs. */
export async function runJob(model: Model, given: Readonly<Feeds>, options: JobOptions): Promise<JobAnswer> {
  const {runs = 1, bench} = options;
  const feeds: Feeds = {...given};
  for (const {name, kind, inputs} of model.groups) {
    if (!inputs || kind === 'optional') continue;
    const parts = model.inputs.slice(inputs[0], inputs[0] + inputs[1]).map((port) => port.name);
    feeds[name] = parts.map((part) => feeds[part] as Tensor | StringTensor);
    for (const part of parts) delete feeds[part];
  }
  if (bench) return {outputs: [], bench: await time(model, feeds, options)};
  let out = await model.run<Outputs[string]>(feeds);
  let ms = model.report().times.runMs ?? 0;
  for (let turn = 1; turn < runs; ++turn) {
    out = await model.run<Outputs[string]>(feeds);
    ms = Math.min(ms, model.report().times.runMs ?? ms);
  }
  return {outputs: Object.values(out).flatMap((value) => value ?? []), report: model.report(), ms};
}
