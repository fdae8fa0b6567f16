/** Where a wasm model is computed: beside the caller, on a page's worker that shares its memory, or all in a worker. */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import threads, {type WorkerOptions} from 'node:worker_threads';

import {STEP_CASES, stepsPackage} from '../../tests/fixtures/steps.ts';
import {tinyPackage, withManifest} from '../../tests/fixtures/tiny.ts';
import {load, type Model, tensor} from '../src/index.ts';

const PLACES = {
  'beside the caller': {},
  'a page with shared memory': {document: {}},
  'a page without': {document: {}, crossOriginIsolated: false},
};

type Message = readonly {readonly method: string}[];

/** Where a model is loaded from here on; the messages that go to workers. */
function place(context: TestContext, globals: object): Message[] {
  Object.assign(globalThis, globals);
  context.after(() => Object.keys(globals).forEach((name) => Reflect.deleteProperty(globalThis, name)));
  const sent: Message[] = [];
  const Real = threads.Worker;
  context.mock.method(threads, 'Worker', class extends Real {
    constructor(script: string, options: WorkerOptions) {
      super(script, options);
      const post = this.postMessage.bind(this);
      this.postMessage = (message: Message, transfer) => {
        sent.push(message);
        post(message, transfer);
      };
    }
  } as never);
  return sent;
}

const k = tensor(BigInt64Array.of(1n, -8n));
const x = (count: number, from: number) => tensor(Float32Array.from({length: count}, (_, at) => at + from), [1, count]);
const wanted = (count: number, from: number) => Float32Array.from({length: count}, (_, at) => 5 * (at + from) + 3);

async function check(model: Model, count: number, from: number): Promise<void> {
  const feed = x(count, from);
  const running = model.run({x: feed, k});
  feed.data.fill(0 as never); // taken at the call
  const out = await running;
  assert.deepEqual(await out['y']?.data(), wanted(count, from));
  assert.deepEqual(await out['m']?.data(), BigInt64Array.of(2n, -7n));
}

const slow = async (n: number) =>
  withManifest(await tinyPackage('wasm', {n}), (manifest) => {
    Object.assign(manifest.kernels[0] ?? {}, {entry: 'slow'});
  });

for (const [name, globals] of Object.entries(PLACES)) {
  for (const count of [1, 2]) {
    test(`results are the same: ${name}, ${count} thread(s)`, async (context) => {
      place(context, globals);
      for (const files of [await tinyPackage('wasm', {n: 100}), await slow(100)]) {
        using model = await load(files, {threads: count});
        for (let turn = 0; turn < 20; ++turn) await check(model, 100, turn);
        await Promise.all(Array.from({length: 20}, (_, turn) => check(model, 100, turn)));
      }
      using model = await load(await tinyPackage('wasm'), {threads: count});
      for (let turn = 0; turn < 40; ++turn) await check(model, 2 + 2 * (turn % 19), turn);
      await Promise.all(Array.from({length: 20}, (_, turn) => check(model, 2 + 2 * turn, turn)));
      for (const {runs, ...steps} of STEP_CASES) {
        using model = await load(await stepsPackage('wasm', steps), {threads: count});
        for (let turn = 0; turn < 3; ++turn) {
          for (const [values, m, result] of runs) {
            const {y} = await model.run({x: tensor(Float32Array.from(values)), m: tensor(BigInt64Array.of(m))});
            assert.deepEqual(Array.from((await y?.data()) as Float32Array), result);
          }
        }
      }
    });
  }
}

for (const [name, globals] of Object.entries(PLACES)) {
  test(`a kernel that writes behind its tensors stays within the memory: ${name}`, async (context) => {
    place(context, globals);
    const wild = withManifest(await tinyPackage('wasm', {n: 100}), (manifest) => {
      Object.assign((manifest['run'] as object[])[0] ?? {}, {range: 8000});
    });
    using model = await load(wild, {threads: 2});
    const settled = await Promise.allSettled(Array.from({length: 8}, () => model.run({x: x(100, 0), k})));
    // Launches lie behind the tensors: they are gone, and nothing else is.
    for (const each of settled) {
      if (each.status === 'rejected') assert.match(String(each.reason), /trapped|more|would/);
    }
    using other = await load(await tinyPackage('wasm', {n: 100}), {threads: 2});
    await check(other, 100, 0);
  });
}

const methodsOf = (sent: readonly Message[]): string[][] => sent.map((message) => message.map(({method}) => method));

test('a page without shared memory sends one message a run', async (context) => {
  const sent = place(context, PLACES['a page without']);
  using model = await load(await tinyPackage('wasm', {n: 100}));
  await check(model, 100, 0);
  sent.length = 0;
  await check(model, 100, 1);
  await check(model, 100, 2);
  const run = ['write', 'write', 'compute', 'read', 'read'];
  assert.deepEqual(methodsOf(sent), [run, run]);
});

test('with shared memory what takes long is one message a run, and what does not is none', async (context) => {
  const sent = place(context, PLACES['a page with shared memory']);
  for (const [files, messages] of [[await slow(100), 1], [await tinyPackage('wasm', {n: 100}), 0]] as const) {
    using model = await load(files, {threads: 1});
    for (let turn = 0; turn < 5; ++turn) await check(model, 100, turn);
    const counts: number[] = [];
    for (let turn = 0; turn < 15; ++turn) {
      sent.length = 0;
      await check(model, 100, turn);
      assert.ok(methodsOf(sent).every((methods) => methods.join() === 'compute'), methodsOf(sent).join(' | '));
      counts.push(sent.length);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    // A machine that does other things at the same time may make a short run a long one, but not most of them.
    assert.equal(counts.sort((a, b) => a - b)[7], messages, counts.join());
  }
});

test('runs that follow each other leave a page its turns', async (context) => {
  place(context, PLACES['a page with shared memory']);
  using model = await load(await tinyPackage('wasm', {n: 100}), {threads: 1});
  for (let turn = 0; turn < 5; ++turn) await check(model, 100, turn);
  let ticks = 0;
  const timer = setInterval(() => ++ticks, 1);
  // By CPU time: on a busy machine 400 ms may be a few of this process.
  const begin = process.cpuUsage();
  const spent = (): number => {
    const {user, system} = process.cpuUsage(begin);
    return (user + system) / 1000;
  };
  while (spent() < 400) await check(model, 100, 0);
  clearInterval(timer);
  assert.ok(ticks >= 10, `${ticks} turns in 400 ms of CPU time`);
});
