/** What becomes of a model when a kernel traps or one of its threads ends. */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import vm from 'node:vm';
import threads, {type Worker, type WorkerOptions} from 'node:worker_threads';

import {tinyPackage, withManifest} from '../../tests/fixtures/tiny.ts';
import {type ErrorCode, GossamerError, load, type Model, tensor} from '../src/index.ts';

const k = tensor(BigInt64Array.of(1n, -8n));
const x = tensor(Float32Array.from({length: 100}, (_, at) => at), [1, 100]);
const feeds = {x, k};

const refused = (code: ErrorCode, message: RegExp) => (problem: unknown) => {
  assert.ok(problem instanceof GossamerError, String(problem));
  assert.match(problem.message, message);
  assert.equal(problem.code, code);
  return true;
};

/** Workers as they are started. What runs in them may be changed: `kernel` wraps a kernel of a helper. */
function watchWorkers(context: TestContext, kernel = ''): Worker[] {
  const started: Worker[] = [];
  const Real = threads.Worker;
  const wrap = `const real = WebAssembly.instantiate;
    WebAssembly.instantiate = async (...given) => {
      const {exports} = await real(...given);
      return {exports: {...exports, slow(begin, end, args) { ${kernel} }}};
    };`;
  context.mock.method(threads, 'Worker', class extends Real {
    constructor(script: string, options: WorkerOptions) {
      super(kernel ? wrap + script : script, options);
      started.push(this);
    }
  } as never);
  return started;
}

/** A worker computes where there is a document. */
function pretendPage(context: TestContext): void {
  Object.assign(globalThis, {document: {baseURI: 'http://page.test/'}});
  context.after(() => Reflect.deleteProperty(globalThis, 'document'));
}

/** A launch of some milliseconds, so that every thread has a part of it. */
const slowPackage = async (entry = 'slow') =>
  withManifest(await tinyPackage('wasm', {n: 100}), (manifest) => {
    Object.assign(manifest.kernels[0] ?? {}, {entry});
  });

async function check(model: Model): Promise<void> {
  const out = await model.run(feeds);
  assert.deepEqual(await out['y']?.data(), Float32Array.from({length: 100}, (_, at) => 5 * at + 3));
}

const TRAPPED = /^kernel "scale" \(Gemm "y"\) trapped: unreachable; load the model again$/;

for (const place of ['beside the caller', 'in a worker']) {
  for (const count of [1, 3]) {
    test(`a trap names kernel and node: ${count} thread(s), ${place}`, async (context) => {
      if (place === 'in a worker') pretendPage(context);
      using model = await load(await slowPackage('trap'), {threads: count});
      for (let turn = 0; turn < 3; ++turn) {
        await assert.rejects(model.run(feeds), refused('kernel', TRAPPED));
      }
    });
  }
}

test('a trap on a helper thread alone names kernel and node', async (context) => {
  watchWorkers(context, 'exports.trap(begin, end, args);');
  using model = await load(await slowPackage(), {threads: 3});
  await assert.rejects(async () => {
    for (let turn = 0; turn < 200; ++turn) await check(model);
  }, refused('kernel', TRAPPED));
  await assert.rejects(model.run(feeds), refused('kernel', TRAPPED));
});

test('a trap while loading is that of its kernel', async () => {
  const broken = withManifest(await tinyPackage('wasm', {n: 4}), (manifest) => {
    Object.assign(manifest.kernels[1] ?? {}, {entry: 'trap'});
  });
  await assert.rejects(load(broken), refused('kernel', /^kernel "twice" \(Add "w"\) trapped: unreachable/));
});

/** Gives every instance of a module scratch memory, which its kernel fills and finds as it was. */
const SCRATCH = `const real = WebAssembly.instantiate;
  WebAssembly.instantiate = async (module, imports) => {
    const made = await real(module, imports);
    const {exports} = made, {env} = imports ?? {};
    if (!exports?.slow) return made;
    const scratch = new WebAssembly.Global({value: 'i32', mutable: true}, 0);
    const token = 1 + Math.floor(Math.random() * 2 ** 31 - 1);
    const slow = (begin, end, args) => {
      const words = new Int32Array(env.memory.buffer, scratch.value, 16).fill(token);
      exports.slow(begin, end, args);
      if (scratch.value === 0 || words.some((word) => word !== token)) throw new Error('its scratch memory is not its own');
    };
    return {exports: {...exports, slow, scratch, scratch_bytes: new WebAssembly.Global({value: 'i32'}, 64)}};
  };`;

for (const count of [1, 3]) {
  test(`each thread has scratch memory of its own: ${count} thread(s)`, async (context) => {
    const {instantiate} = WebAssembly;
    context.after(() => Object.assign(WebAssembly, {instantiate}));
    vm.runInThisContext(`{${SCRATCH}}`);
    const Real = threads.Worker;
    context.mock.method(threads, 'Worker', class extends Real {
      constructor(script: string, options: WorkerOptions) {
        super(SCRATCH + script, options);
      }
    } as never);
    using model = await load(await slowPackage(), {threads: count});
    for (let turn = 0; turn < 100; ++turn) await check(model);
  });
}

const DIED = /^a worker of the model stopped: it exited with code 1; load the model again$/;

test('a helper that ends with a part of a launch is an error, 20 times', async (context) => {
  watchWorkers(context, 'if (Math.random() < 0.3) process.exit(1); exports.slow(begin, end, args);');
  const files = await slowPackage();
  for (let turn = 0; turn < 20; ++turn) {
    using model = await load(files, {threads: 3});
    await assert.rejects(async () => {
      for (let run = 0; run < 200; ++run) await check(model);
    }, refused('lost', DIED));
    await assert.rejects(model.run(feeds), refused('lost', DIED));
  }
});

test('a helper that is ended at any time is an error, 20 times', async (context) => {
  pretendPage(context);
  const started = watchWorkers(context);
  const files = await slowPackage();
  for (let turn = 0; turn < 20; ++turn) {
    using model = await load(files, {threads: 3});
    await check(model);
    const runs = [check(model), check(model), check(model)];
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
    const [ended] = await Promise.all([started.at(-1 - (turn % 2))?.terminate(), Promise.allSettled(runs)]);
    assert.equal(ended, 1);
    for (const run of await Promise.allSettled(runs)) {
      if (run.status === 'rejected') assert.ok(refused('lost', DIED)(run.reason));
    }
    await assert.rejects(check(model), refused('lost', DIED));
  }
});

test('a worker that computes and ends in the middle of a run is an error, 20 times', async (context) => {
  pretendPage(context);
  const started = watchWorkers(context);
  const files = await slowPackage();
  for (let turn = 0; turn < 20; ++turn) {
    using model = await load(files, {threads: turn % 2 ? 2 : 1});
    await model.run(feeds);
    const run = model.run(feeds);
    run.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    const all = started.splice(0);
    await all.at(turn % 4 === 3 ? -1 : 0)?.terminate();
    await run.catch(refused('lost', DIED));
    await assert.rejects(model.run(feeds), refused('lost', DIED));
  }
});

test('errors and garbled messages of a worker end waiting calls', async (context) => {
  pretendPage(context);
  const started = watchWorkers(context);
  for (const event of ['error', 'messageerror']) {
    using model = await load(await slowPackage(), {threads: 1});
    const run = model.run(feeds);
    run.catch(() => undefined);
    started.at(-1)?.emit(event, new Error('out of paper'));
    await assert.rejects(run, refused('lost', /a worker of the model stopped: Error: out of paper/));
  }
});

test('disposing in the middle of a run ends it', async () => {
  for (const count of [1, 3]) {
    const model = await load(await slowPackage(), {threads: count});
    const runs = [model.run(feeds), model.run(feeds)];
    model.dispose();
    for (const run of await Promise.allSettled(runs)) {
      if (run.status === 'rejected') assert.ok(run.reason instanceof GossamerError, String(run.reason));
    }
  }
});
