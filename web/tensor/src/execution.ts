/**
 * When what is recorded runs: what is asked for in one turn of the page's events, with all that is due on its device, is one
 * program. Due are new values of parameters, optimizers' states and running statistics: nobody may ever read them, but the next
 * step is computed from them.
 */
import {GossamerError, type TensorData} from '../../runtime/src/types.ts';
import {allEngines, type Elements, engineOf} from './engine.ts';
import {type Device, drop, getRecorder, leafOf, letGo, type Recorded, type Stored, Value, weightsOf} from './recording.ts';
import {anomalies, type Anomaly} from './anomaly.ts';

/** What has a value that updates replace. */
export interface Variable {
  /** @internal */
  readonly value: Value;
}

/** Steps of optimizers so far. */
let generation = 0;
/** The generation in which the first of what is due was made. */
let dueSince = 0;
const due = new Set<Variable>();
/** Gradients that no step has used yet: they are computed with what is read before, as what they go through is not kept once it was read. */
let awaited = new Set<Value>();

export function awaits(gradient: Value, walk: number): void {
  gradient.walk = walk;
  awaited.add(gradient);
}
/** Those that the last step has used. */
let used = awaited;
/** Values that were replaced, by when. */
const replaced: {readonly value: Value; readonly at: number}[] = [];

/** How many steps of optimizers the elements of a replaced parameter last. */
const GENERATIONS = 2;

interface Ask {
  readonly value: Value;
  readonly resolve: (data: TensorData) => void;
  readonly reject: (problem: unknown) => void;
}
let asked: Ask[] = [];

/** The elements of a value: computed in the program of this turn. */
export function ask(value: Value): Promise<TensorData> {
  if (value.stored) return value.stored.read();
  return new Promise((resolve, reject) => {
    if (asked.length === 0) queueMicrotask(flush);
    asked.push({value: value.hold(), resolve, reject});
  });
}

/** Computes what is asked for and what is due. Rejects nothing here: those who asked are told. */
export function flush(): void {
  const asks = asked;
  asked = [];
  const devices = new Set<Device>(asks.map(({value}) => value.device));
  for (const {value} of due) devices.add(value.device);
  const wanted = [...due].map(({value}) => value).filter(({held}) => held);
  due.clear();
  if (asks.length > 0) {
    for (const gradient of awaited) if (gradient.held) wanted.push(gradient);
    awaited.clear();
  }
  for (const device of devices) {
    const mine = asks.filter(({value}) => value.device === device);
    const watched = anomalies(device);
    const all = [...mine.map(({value}) => value), ...wanted.filter((value) => value.device === device), ...watched.map(({flag}) => flag)];
    let problem: unknown;
    try {
      const read = new Set([...mine.map(({value}) => value), ...watched.map(({flag}) => flag)]);
      launch(device, [...new Set(all)].filter((value) => !value.stored), read);
    } catch (thrown) {
      problem = thrown;
    }
    const clean = watched.length > 0 && problem === undefined ? checked(watched) : undefined;
    for (const {value, resolve, reject} of mine) {
      const {stored} = value;
      if (problem !== undefined && !stored) reject(problem);
      else Promise.all([(stored as Stored).read(), clean]).then(([data]) => resolve(data), reject);
      value.release();
    }
    // Nobody asked, but a step that gave NaN must not pass unseen.
    if (mine.length === 0 && clean) void clean;
    watched.forEach(({flag}) => flag.release());
  }
}

/** One program that computes these; those of `read` come to the page. */
function launch(device: Device, values: readonly Value[], read: ReadonlySet<Value>): void {
  if (values.length === 0) return;
  const recorder = getRecorder();
  const results = start(device, values.map(({recorded}) => recorded), values.map((value) => read.has(value)));
  values.forEach((value, at) => {
    value.stored = results[at];
    // What gradients were taken through once is not kept for more of them, as in PyTorch.
    const history = value.tracked && !value.passed;
    value.cut = value.tracked && !history;
    recorder.settle(value.id, history);
  });
  for (const gradient of used) {
    if (!gradient.stored && values.some(({passed}) => passed === gradient.walk)) gradient.walk = -1;
  }
  drop(recorder.release(-1));
}

/** The program that computes these; some are `read`. */
function start(device: Device, wanted: readonly Recorded[], read: readonly boolean[]): Elements[] {
  const recorder = getRecorder();
  const {program, general, feeds} = recorder.plan(wanted.map(({id}) => id));
  const given = feeds.map((id) => onDevice(leafOf(id), device));
  return engineOf(device).run({program, general, model: (number) => ({onnx: recorder.model(number), weights: weightsOf(number)})}, given, wanted, read);
}

/** Values of one node whose shapes a run decides. */
export async function decided(device: Device, recorded: readonly Recorded[]): Promise<Value[]> {
  const recorder = getRecorder();
  try {
    const results = start(device, recorded, recorded.map(() => false));
    recorded.forEach(({id}) => recorder.settle(id));
    const shapes = await Promise.all(results.map((each) => each.decided()));
    return recorded.map(({id}, at) => {
      const value = new Value(recorder.decide(id, shapes[at] as readonly number[]), device, false);
      value.stored = results[at];
      return value;
    });
  } catch (problem) {
    recorded.forEach(letGo);
    throw problem;
  }
}

/** The elements of a leaf, moved to a device where they are elsewhere. */
function onDevice(leaf: Value, device: Device): Stored {
  const stored = leaf.stored as Stored;
  if (stored.device === device) return stored;
  const moved = engineOf(device).upload(stored, stored.read());
  stored.dispose();
  leaf.stored = moved;
  return moved;
}

/** Rejects with the first operation that gave NaN or an infinity. */
async function checked(watched: readonly Anomaly[]): Promise<void> {
  const found = await Promise.all(watched.map(({flag}) => (flag.stored as Stored).read()));
  const at = found.findIndex((data) => Number(data[0]) !== 0);
  if (at < 0) return;
  const {where, what} = watched[at] as Anomaly;
  const problem = new GossamerError('input', what, {cause: where});
  problem.stack = `${problem.name}: ${what}\n${(where.stack ?? '').split('\n').slice(1).join('\n')}`;
  throw problem;
}

/** Computes what is due. Resolves when all devices are done. */
export async function synchronize(): Promise<void> {
  flush();
  await Promise.all(allEngines().map((engine) => engine.idle()));
}

/** Starts what is due where it is from before the latest step, so that each step is a program of its own. */
export function flushOlder(): void {
  if (due.size > 0 && dueSince < generation) flush();
}

/** Makes `variable`'s new value due and lets go of the one before. */
export function replace(variable: Variable, before: Value): void {
  due.delete(variable);
  if (!variable.value.stored) {
    if (due.size === 0) dueSince = generation;
    due.add(variable);
  }
  replaced.push({value: before, at: generation});
  before.release();
}

/** A step of an optimizer is recorded: what it replaced two steps ago is let go of, though something recorded may want it. */
export function stepped(): void {
  generation += 1;
  used = awaited;
  awaited = new Set();
  let count = 0;
  while (count < replaced.length && (replaced[count]?.at ?? 0) + GENERATIONS < generation) count += 1;
  for (const {value} of replaced.splice(0, count)) if (!value.held) value.stored = undefined;
}

