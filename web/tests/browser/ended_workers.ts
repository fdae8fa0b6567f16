/** What becomes of a model when the browser ends its workers. */
import {GossamerError, load, type Model} from '../../runtime/src/index.ts';
import {tinyPackage, withManifest} from '../fixtures/tiny.ts';
import {check, k, ramp, rejects, same} from './check.ts';

const TIMES = 20;
const AT_ONCE = 10;
const ENDED = /^a worker of the model stopped: the browser ended it; load the model again$/;

/** Calls `body` with the workers that are started while it runs. */
async function watched(body: (started: Worker[]) => Promise<void>): Promise<void> {
  const Real = globalThis.Worker;
  const started: Worker[] = [];
  globalThis.Worker = class extends Real {
    constructor(url: string | URL) {
      super(url);
      started.push(this);
    }
  };
  try {
    await body(started);
  } finally {
    globalThis.Worker = Real;
  }
}

/** A launch of some milliseconds. */
const slowPackage = async () =>
  withManifest(await tinyPackage('wasm', {n: 100}), (manifest) => {
    Object.assign(manifest.kernels[0] ?? {}, {entry: 'slow'});
  });

const feeds = {x: ramp(100), k};

async function runsRight(model: Model): Promise<void> {
  const {y} = await model.run(feeds);
  same(await y?.data(), Float32Array.from({length: 100}, (_, at) => 5 * at + 3), 'y');
}

/** Ends one worker of a model in the middle of a run. */
async function endOne(model: Model, worker: Worker | undefined): Promise<void> {
  await runsRight(model);
  const runs = [runsRight(model), runsRight(model), runsRight(model)];
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
  worker?.terminate();
  for (const run of await Promise.allSettled(runs)) {
    if (run.status === 'fulfilled') continue;
    const problem: unknown = run.reason;
    check(problem instanceof GossamerError && problem.code === 'lost', String(problem));
    check(ENDED.test((problem as Error).message), String(problem));
  }
  // Chromium gives a worker 2 s to end by itself.
  const refused = async (): Promise<void> => {
    for (const until = performance.now() + 20_000; performance.now() < until; ) await runsRight(model);
  };
  await rejects(refused(), 'lost', ENDED);
  await rejects(model.run(feeds), 'lost', ENDED);
  model.dispose();
}

/** The same for many models, some at a time; the worker at `victim` of a model's. */
const endMany = (threads: number, victim: number) =>
  watched(async (started) => {
    const files = await slowPackage();
    for (let turn = 0; turn < TIMES; turn += AT_ONCE) {
      const ends: (() => Promise<void>)[] = [];
      for (let each = 0; each < AT_ONCE; ++each) {
        const model = await load(files, {threads, strict: true});
        check(model.report().adapter.includes('worker'), model.report().adapter);
        // From the end: one that found no addresses was replaced.
        const worker = started.splice(0).at(victim);
        ends.push(() => endOne(model, worker));
      }
      await Promise.all(ends.map((end) => end()));
    }
  });

export function addEndedWorkers(tests: Map<string, () => Promise<void>>): void {
  tests.set(`wasm: a helper that the browser ends is an error, ${TIMES} times`, () => endMany(3, -1));
  tests.set(`wasm: a worker that the browser ends is an error, ${TIMES} times`, async () => {
    await endMany(1, -1);
    await endMany(2, -2);
  });
  tests.set('wasm: a trap names kernel and node', async () => {
    const broken = withManifest(await slowPackage(), (manifest) => {
      Object.assign(manifest.kernels[0] ?? {}, {entry: 'trap'});
    });
    for (const threads of [1, 3]) {
      using model = await load(broken, {threads});
      const trapped = /^kernel "scale" \(Gemm "y"\) trapped: .*unreachable.*; load the model again$/;
      await rejects(model.run(feeds), 'kernel', trapped);
      await rejects(model.run(feeds), 'kernel', trapped);
    }
  });
}
