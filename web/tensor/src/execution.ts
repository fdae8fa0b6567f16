/**
 * When what is recorded runs: what is asked for in one turn of the page's events, with all that is due on its device, is one
 * program. Due are new values of parameters, optimizers' states and running statistics: nobody may ever read them, but the next
 * step is computed from them.
 */
import type {TensorData} from '../../runtime/src/values/types.ts';
import {allEngines, type Elements, engineOf} from './engine.ts';
import {type Device, drop, getRecorder, leafOf, letGo, type Recorded, type Stored, Value, weightsOf} from './recording.ts';
import {anomalies, type Anomaly} from './anomaly.ts';

/** What has a value that updates replace. */
export interface Variable {
  /** @internal */
  readonly value: Value;
  /** @internal The same, but undefined once it was disposed of. */
  readonly current: Value | undefined;
}

/** Steps of optimizers so far. */
let generation = 0;
/** The generation in which the first of what is due was made. */
let dueSince = 0;
/** Some may be there twice. */
let due: Variable[] = [];
/** How often what is due was computed. */
let flushes = 0;
/** Gradients that no step has used yet: they are computed with what is read before, as what they go through is not kept once it was read. */
let awaited: Value[] = [];

export function awaits(gradient: Value, walk: number): void {
  gradient.walk = walk;
  awaited.push(gradient);
}
/**
 * Values that programs may keep between steps, as states, running means and losses: they are computed with what is read or due next, while
 * what they are computed from is there, unless nobody holds them by then.
 */
let carried: Value[] = [];

export function carries(value: Value): void {
  if (!value.stored) carried.push(value);
}

/** What backward() was called of: carried, though gradients that are read later still go through it. */
export function differentiated(value: Value): void {
  value.root = true;
  carries(value);
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
/** What is behind it comes when the page's code of this turn has run; queueMicrotask() takes Node.js more. */
const turn = Promise.resolve();

/** The elements of a value: computed in the program of this turn. */
export function ask(value: Value): Promise<TensorData> {
  if (value.stored) return value.stored.read();
  return new Promise((resolve, reject) => {
    if (!asked[0]) void turn.then(flush);
    asked.push({value: value.hold(), resolve, reject});
  });
}

let looking = false;

/** Within it nothing is computed or becomes due: what is recorded is only looked at. */
export function apart<T>(make: () => T): T {
  const before = [[...due], [...carried], [...awaited]] as const;
  looking = true;
  try {
    return make();
  } finally {
    looking = false;
    [due, carried, awaited] = before as [Variable[], Value[], Value[]];
  }
}
/** Whether what is recorded is only looked at, as for an export. */
export const looks = (): boolean => looking;

/** Computes what is asked for and what is due. Rejects nothing here: those who asked are told. */
export function flush(): void {
  if (looking) return;
  const asks = asked;
  asked = [];
  flushes += 1;
  const wanted: Value[] = [];
  const want = (value: Value | undefined, turn = flushes): void => {
    if (!value?.held || value.stored || Math.abs(value.turn) === flushes) return;
    value.turn = turn;
    wanted.push(value);
  };
  for (const {value} of asks) want(value, -flushes);
  for (const {current} of due) want(current);
  due = [];
  for (const value of carried) want(value);
  carried = [];
  if (asks[0]) {
    for (const gradient of awaited) want(gradient);
    awaited = [];
  }
  const devices = new Set<Device>();
  for (const {device} of [...asks.map(({value}) => value), ...wanted]) devices.add(device);
  for (const device of devices) {
    const mine = asks.filter(({value}) => value.device === device);
    const watched = anomalies(device);
    for (const {flag} of watched) want(flag, -flushes);
    let problem: unknown;
    try {
      launch(device, wanted.filter((value) => value.device === device));
    } catch (thrown) {
      problem = thrown;
    }
    const clean = watched[0] && !problem ? checked(watched) : undefined;
    for (const {value, resolve, reject} of mine) {
      const {stored} = value;
      if (problem && !stored) reject(problem);
      else {
        const data = (stored as Stored).read();
        (clean ? Promise.all([data, clean]).then(() => data) : data).then(resolve, reject);
      }
      value.release();
    }
    // Where nobody asked, `clean` is left alone: a step that gave NaN must not pass unseen.
    watched.forEach(({flag}) => flag.release());
  }
}

/** One program that computes these; those that are asked for come to the page. */
function launch(device: Device, values: readonly Value[]): void {
  if (!values[0]) return;
  const recorder = getRecorder();
  const results = start(device, values.map(({recorded}) => recorded), values.map(({turn}) => turn < 0));
  values.forEach((value, at) => {
    value.stored = results[at];
    // What gradients were taken through once is not kept for more of them, as in PyTorch.
    const history = value.tracked && (!value.passed || (value.root && value.turn > 0));
    value.cut = value.tracked && !history;
    recorder.settle(value.id, history);
  });
  for (const gradient of used) {
    if (!gradient.stored && values.some(({passed, cut}) => cut && passed === gradient.walk)) gradient.walk = -1;
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
  (await import('./find_anomaly.ts')).findAnomaly(watched, found);
}

/** Computes what is due. Resolves when all devices are done. */
export async function synchronize(): Promise<void> {
  flush();
  await Promise.all(allEngines().map((engine) => engine.idle()));
}

/** Starts what is due where it is from before the latest step, so that each step is a program of its own. */
export function flushOlder(): void {
  if (due[0] && dueSince < generation) flush();
}

/** Makes `variable`'s new value due and lets go of the one before. */
export function replace(variable: Variable, before: Value): void {
  if (!variable.value.stored) {
    if (!due[0]) dueSince = generation;
    due.push(variable);
  }
  replaced.push({value: before, at: generation});
  before.release();
}

/** A step of an optimizer is recorded: what it replaced two steps ago is let go of, though something recorded may want it. */
export function stepped(): void {
  generation += 1;
  used = awaited;
  awaited = [];
  let count = 0;
  while (count < replaced.length && (replaced[count]?.at ?? 0) + GENERATIONS < generation) count += 1;
  for (const {value} of replaced.splice(0, count)) if (!value.held) value.stored = undefined;
}

