/** Arrays that the caller uses again as soon as run() has returned its promise. */
import {type DeviceKind, load, type Model, type Output, tensor} from '../../runtime/src/index.ts';
import {stepsPackage, STEP_CASES} from '../fixtures/steps.ts';
import {tinyPackage, withManifest} from '../fixtures/tiny.ts';
import {check, k, ramp, rejects, same} from './check.ts';

const N = 8;
const wanted = (first: number): number[] => Array.from({length: N}, (_, at) => 5 * (first + at) + 3);

/** `turns` runs out of one array, which is overwritten after each call; all at once, or one at a time. */
async function reuse(model: Model, values: Float32Array, together: boolean): Promise<void> {
  const x = tensor(values, [1, N]);
  const ks = new BigInt64Array(2);
  const runs: Promise<Record<string, Output>>[] = [];
  for (let turn = 0; turn < 4; ++turn) {
    values.forEach((_, at) => (values[at] = 100 * turn + at));
    ks.fill(BigInt(turn));
    runs.push(model.run({x, k: tensor(ks)}));
    values.fill(NaN);
    ks.fill(-99n);
    if (!together) await runs.at(-1);
  }
  for (const [turn, run] of runs.entries()) {
    const {y, m} = await run;
    same(await y?.data(), wanted(100 * turn), `y of turn ${turn}`);
    same(await m?.data(), [BigInt(turn) + 1n, BigInt(turn) + 1n], `m of turn ${turn}`);
  }
}

async function reusedArrays(kind: DeviceKind): Promise<void> {
  for (const n of [N, undefined]) {
    using model = await load(await tinyPackage(kind, {n}));
    const part = new Float32Array(N + 5).subarray(3, 3 + N);
    for (const together of [false, true, false]) await reuse(model, part, together);
    if (typeof SharedArrayBuffer !== 'undefined') {
      await reuse(model, new Float32Array(new SharedArrayBuffer(4 * N)), false);
      await reuse(model, new Float32Array(new SharedArrayBuffer(4 * N)), true);
    }
  }
}

async function reusedInSteps(kind: DeviceKind): Promise<void> {
  for (const {runs, ...steps} of STEP_CASES) {
    using model = await load(await stepsPackage(kind, steps));
    const outs = runs.map(([x, m, result]) => {
      const [values, count] = [Float32Array.from(x), BigInt64Array.of(m)];
      const out = model.run({x: tensor(values), m: tensor(count)});
      values.fill(-7);
      count.fill(0n);
      return [out, result] as const;
    });
    for (const [out, result] of outs) same(await (await out)['y']?.data(), result, 'y');
  }
}

async function sequences(kind: DeviceKind): Promise<void> {
  const groups = [{name: 'both', kind: 'sequence', inputs: [0, 2]}];
  using model = await load(
    withManifest(await tinyPackage(kind, {n: N}), (manifest) => Object.assign(manifest, {groups})),
  );
  const values = Float32Array.from({length: N}, (_, at) => at);
  const both = [tensor(values, [1, N]), k];
  const runs = [model.run({both}), model.run({both})];
  both.length = 0;
  values.fill(NaN);
  for (const run of runs) same(await (await run)['y']?.data(), wanted(0), 'y');
}

async function outputsAsFeeds(kind: DeviceKind): Promise<void> {
  using model = await load(await tinyPackage(kind, {n: 4}));
  const x = ramp(4);
  const {y, m} = await model.run({x, k});
  const again = model.run({x: y, k: m});
  const [values, numbers] = [await y?.data<Float32Array>(), await m?.data<BigInt64Array>()];
  y?.dispose();
  const next = model.run({x, k: m});
  await Promise.resolve(); // an output's values are taken when they have arrived
  values?.fill(NaN);
  await again.then(async (out) => {
    same(await out['y']?.data(), [18, 43, 68, 93], 'y of y');
    same(await out['m']?.data(), [3n, -6n], 'm of m');
  });
  same(await (await next)['m']?.data(), [3n, -6n], 'm');
  check(numbers?.length === 2, 'm');
  await rejects(model.run({x: m, k}), 'input', /"x" wants f32 \[1, 4\], the tensor is i64 \[2\]/);
  const plain = {data: [1, 2, 3, 4], shape: [1, 4], dtype: 'f32'} as never;
  await rejects(model.run({x: plain, k}), 'input', /"x": values of f32 are a Float32Array/);
}

export function addFeeds(tests: Map<string, () => Promise<void>>, kinds: readonly DeviceKind[]): void {
  for (const kind of kinds) {
    tests.set(`${kind}: arrays are the caller's again when run() has returned`, () => reusedArrays(kind));
    tests.set(`${kind}: also where a run has steps`, () => reusedInSteps(kind));
    tests.set(`${kind}: also those of a sequence`, () => sequences(kind));
    tests.set(`${kind}: outputs are feeds of other runs`, () => outputsAsFeeds(kind));
  }
}
