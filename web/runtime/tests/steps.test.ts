import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sidePackage} from '../../tests/fixtures/side.ts';
import {type Json, L, launch, plan, read, STEP_CASES, stepsPackage, T, V} from '../../tests/fixtures/steps.ts';
import {GossamerError, load, type Model, tensor} from '../src/index.ts';
import type {Manifest} from '../src/package/manifest.ts';
import {extentOf} from '../src/session/memory.ts';

const feeds = (x: readonly number[], m: bigint) => ({
  x: tensor(Float32Array.from(x)),
  m: tensor(BigInt64Array.of(m)),
});

async function run(model: Model, x: readonly number[], m: bigint): Promise<number[]> {
  const {y} = await model.run(feeds(x, m));
  const values = Array.from((await y?.data()) as Float32Array);
  assert.deepEqual(y?.shape, [values.length]);
  return values;
}

for (const {name, runs, times, ...steps} of STEP_CASES) {
  for (const threads of [1, 2]) {
    test(`${name}, ${threads} thread(s)`, async () => {
      using model = await load(await stepsPackage('wasm', steps), {threads});
      for (const [x, m, wanted] of runs) assert.deepEqual(await run(model, x, m), wanted);
      const {kernels} = model.report();
      for (const [at, count] of Object.entries(times)) assert.equal(kernels[Number(at)]?.times, count);
      // At the same time: each keeps its own result.
      const all = await Promise.all(runs.map(([x, m]) => run(model, x, m)));
      assert.deepEqual(all, runs.map(([, , wanted]) => wanted));
    });
  }
}

const count = {steps: [launch(L.begin)], output: 'state', length: 'n'} as const;

test('says what is wrong with steps', async () => {
  const broken: [unknown, RegExp][] = [
    [7, /package\.steps is not a list/],
    [[7], /package\.steps\[0\] is not an object/],
    [[{}], /steps\[0\]\.\* is not a step that this run time knows/],
    [[{launch: [0, 10]}], /steps\[0\]\.launch\[1\] is not in \[0, 10\)/],
    [[{launch: [2, 1]}], /launch is not a part/],
    [[{launch: [-1, 1]}], /launch\[0\] is not in/],
    [[{launch: [0.5, 1]}], /launch\[0\] is not in/],
    [[{launch: [0]}], /launch is not 2 items long/],
    [[{launch: [0, 1, 2]}], /launch is not 2 items long/],
    [[read(8, 0)], /steps\[0\]\.read is not in \[0, 8\)/],
    [[read(T.m, 3, 2)], /dims is not in \[0, 3\)/],
    [[read(T.m, 0, 5)], /count is not in \[0, 5\)/],
    [[read(T.x, 0)], /read is not a tensor of integers/],
    [[plan(4)], /plan is not in \[0, 4\)/],
    [[{set: [[4, 0]]}], /set\[0\]\[0\] is not in \[0, 4\)/],
    [[{set: [[0]]}], /steps\[0\]\.set\[0\] is not 2 items long/],
    [[{set: [[0, {plan: 13}]]}], /set\[0\]\[1\]\.plan is not in \[0, 13\)/],
    [[{if: {plan: 0}, then: []}], /else is not a list of steps/],
    [[{if: 'yes', then: [], else: []}], /if is not an integer/],
    [[{loop: 1, dim: 4, body: []}], /dim is not in \[0, 4\)/],
    [[{loop: 1, dim: 0, while: 9, body: []}], /while is not in \[0, 4\)/],
    [[{loop: 1, dim: 1, body: [plan(9)]}], /steps\[0\]\.body\[0\]\.plan is not in/],
  ];
  for (const [steps, message] of broken) {
    const files = await stepsPackage('wasm', count, (manifest) => void (manifest['steps'] = steps));
    await assert.rejects(load(files), (problem) => {
      assert.ok(problem instanceof GossamerError, String(problem));
      assert.equal(problem.code, 'damaged');
      assert.match(problem.message, message);
      return true;
    });
  }
  let deep: unknown[] = [];
  for (let level = 0; level < 300; ++level) deep = [{loop: 1, dim: 1, body: deep}];
  await assert.rejects(load(await stepsPackage('wasm', {...count, steps: deep})), /256 steps deep/);
  const segments = await stepsPackage('wasm', count, (manifest) => delete manifest['steps']);
  await assert.rejects(load(segments), /plan\.segments is not a number of segments that steps run/);
  const late = await stepsPackage('wasm', count, (manifest) => {
    Object.assign((manifest['slots'] as object[])[0] ?? {}, {segment: 3});
  });
  await assert.rejects(load(late), /inputs\[0\]\.tensor is not in memory of the first segment/);
});

test('says what is wrong with a side', async () => {
  const item = (manifest: Json, key: string, at: number): object => (manifest[key] as object[])[at] ?? {};
  const broken: [(manifest: Json) => unknown, RegExp][] = [
    [(m) => delete m['side'], /device is not in \[0, 1\)/],
    [(m) => (m['side'] = {target: 'webgl', code: 'side.wasm'}), /side\.target is not wasm/],
    [(m) => (m['side'] = {target: 'wasm'}), /side\.code is not a string/],
    [(m) => Object.assign(m, {target: 'wasm'}), /side\.target is not beside a GPU/],
    [(m) => Object.assign(item(m, 'slots', 4), {device: 2}), /slots\[4\]\.device is not in \[0, 2\)/],
    [(m) => Object.assign(item(m, 'slots', 4), {device: 0}), /kernel is not on the device of its tensors/],
    [(m) => Object.assign(item(m, 'kernels', 1), {device: 0}), /kernels\[1\]\.code is not an integer/],
    [(m) => (m['steps'] = [{launch: [0, 2]}]), /launch is not a part of run on one device/],
    [(m) => (m['steps'] = [{copy: [0, 1]}]), /copy is not a pair of tensors of one type on two/],
    [(m) => (m['steps'] = [{copy: [0, 6]}]), /copy is not a pair/],
    [(m) => (m['steps'] = [{copy: [0, 13]}]), /copy\[1\] is not in \[0, 13\)/],
    [(m) => (m['steps'] = [{copy: [0]}]), /copy is not 2 items long/],
    [(m) => (m['steps'] = [{copy: 0}]), /copy is not a list/],
    [(m) => Object.assign(m, {steps: undefined, plan: {values: 13}}), /steps is not there to copy/],
  ];
  for (const [change, message] of broken) {
    await assert.rejects(load(await sidePackage('webgpu', change)), message);
  }
});

test('what a run cannot do is an error of that run', async () => {
  const error = async (steps: unknown[], m = 1n): Promise<string> => {
    using model = await load(await stepsPackage('wasm', {...count, steps}));
    try {
      await run(model, [1, 2], m);
      return '';
    } catch (problem) {
      return problem instanceof GossamerError ? problem.message : `not ours: ${String(problem)}`;
    }
  };
  assert.match(await error([read(T.m, V.w, 2)]), /"m" has 1 elements, 2 are read/);
  assert.match(await error([read(T.count, V.w, 2)]), /"count" has 1 elements, 2 are read/);
  assert.match(await error([launch(L.grow)]), /tensor "grown" has no memory yet/);
  assert.match(await error([read(T.m, V.k), plan(2)], -1n), /size of tensor "made" would be -4/);
  assert.match(await error([{set: [[V.i, -1]]}, plan(3)]), /i \+ 1 may not be 0/);
  assert.equal(await error([{set: [[V.i, 4]]}, plan(3), launch(L.begin)]), '');
});

test('a run without an end stops when the model is disposed of', async () => {
  const steps = [launch(L.begin), {loop: 2 ** 40, dim: V.i, body: [launch(L.addOne)]}];
  const model = await load(await stepsPackage('wasm', {...count, steps}));
  const running = assert.rejects(model.run(feeds([1], 1n)), /was disposed/);
  await new Promise((resolve) => setTimeout(resolve, 200));
  model.dispose();
  await running;
});

test('slots are sized without a look at the tensors, but where a size is none', () => {
  let looks = 0;
  const tensors = new Proxy([{slot: 0, name: 'large'}], {
    get: (list, key): unknown => {
      ++looks;
      return Reflect.get(list, key);
    },
  });
  const manifest = {slots: [{bytes: {plan: 0}}], tensors} as unknown as Manifest;
  assert.deepEqual(extentOf(manifest, 0, Float64Array.of(64)), {bytes: 64});
  assert.equal(looks, 0);
  for (const size of [-4, NaN, 2 ** 60]) {
    assert.throws(() => extentOf(manifest, 0, Float64Array.of(size)), /size of tensor "large" would be/);
  }
});
