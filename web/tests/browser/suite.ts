/** Tests that run inside a page. The Node side lists them and calls them one by one. */
import {
  type DeviceKind,
  GossamerError,
  load,
  type LoadOptions,
  tensor,
} from '../../runtime/src/index.ts';
import {sidePackage} from '../fixtures/side.ts';
import {addBadInput} from './bad_input.ts';
import {check, k, ramp, rejects, same} from './check.ts';
import {addCaches} from './caches.ts';
import {addEndedWorkers} from './ended_workers.ts';
import {addDeviceTensors} from './device_tensors.ts';
import {addFeeds} from './feeds.ts';
import {addImages} from './images.ts';
import {addLaunches} from './launches.ts';
import {addProfiles} from './profile.ts';
import {addRecovery} from './recover.ts';
import {addShards} from './shards.ts';
import {addTrouble} from './trouble.ts';
import {STEP_CASES, stepsPackage} from '../fixtures/steps.ts';
import {tinyFolder, tinyPackage} from '../fixtures/tiny.ts';

type TestBody = () => Promise<void>;
const tests = new Map<string, TestBody>();

async function runsRight(kind: DeviceKind, options: LoadOptions): Promise<void> {
  using model = await load(await tinyPackage(kind, {n: 100}), {device: kind, ...options});
  for (let turn = 0; turn < 3; ++turn) {
    const {y, m} = await model.run({x: ramp(100), k});
    same(await y?.data(), Float32Array.from({length: 100}, (_, at) => 5 * at + 3), 'y');
    same(await m?.data(), [2n, -7n], 'm');
    same(y?.shape, [1, 100], 'shape');
  }
  const report = model.report();
  same(report.device, kind, 'device');
  check(report.adapter.length > 5, 'no adapter name');
  same(report.kernels[0]?.phase, 'init', 'first kernel');
}

async function grows(kind: DeviceKind): Promise<void> {
  using model = await load(await tinyPackage(kind));
  for (const n of [4, 400, 4, 2, 500]) {
    const {y} = await model.run({x: ramp(n), k});
    const wanted = Float32Array.from({length: n}, (_, at) => 5 * at + 3);
    same(await y?.data(), wanted, `n = ${n}`);
  }
  await rejects(model.run({x: ramp(3), k}), 'input', /n must be even/);
  const outs = await Promise.all([6, 8, 10].map((n) => model.run({x: ramp(n), k})));
  for (const [at, {y}] of outs.entries()) same((await y?.data())?.length, 6 + 2 * at, 'length');
}

const changed = async (kind: DeviceKind, from: string, to: string) => {
  const files = await tinyPackage(kind, {n: 4});
  const bytes = files.get('kernels.json') ?? new Uint8Array();
  const sources = new TextDecoder().decode(bytes).replace(from, to);
  const replaced = new TextEncoder().encode(sources);
  const manifest = JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as {
    files: {name: string; bytes: number; xxh3: string}[];
  };
  const {Xxh3} = await import('../../runtime/src/hash/xxh3.ts');
  const hash = await Xxh3.create();
  hash.update(replaced);
  Object.assign(manifest.files.find(({name}) => name === 'kernels.json') ?? {}, {
    bytes: replaced.length,
    xxh3: hash.digest(),
  });
  files.set('kernels.json', replaced);
  files.set('manifest.json', new TextEncoder().encode(JSON.stringify(manifest)));
  return files;
};

for (const kind of ['webgpu', 'webgl', 'wasm'] as const) {
  tests.set(`${kind}: runs a package`, () => runsRight(kind, {strict: true}));
  tests.set(`${kind}: dynamic dimensions`, () => grows(kind));
  tests.set(`${kind}: progress and loading twice`, async () => {
    const seen: string[] = [];
    const files = await tinyPackage(kind, {n: 4});
    const options: LoadOptions = {onProgress: ({stage}) => void seen.push(stage)};
    const [first, second] = await Promise.all([load(files, options), load(files)]);
    same([...new Set(seen)], ['download', 'compile', 'upload'], 'stages');
    first.dispose();
    const {y} = await second.run({x: ramp(4), k});
    same(await y?.data(), [3, 8, 13, 18], 'after the other was disposed');
    second.dispose();
    await rejects(second.run({x: ramp(4), k}), 'disposed', /disposed/);
  });
}

for (const kind of ['webgpu', 'webgl', 'wasm'] as const) {
  for (const {name, runs, times, ...steps} of STEP_CASES) {
    tests.set(`${kind}: ${name}`, async () => {
      using model = await load(await stepsPackage(kind, steps), {strict: true});
      const run = async ([x, m, wanted]: (typeof runs)[number]): Promise<void> => {
        const {y} = await model.run({
          x: tensor(Float32Array.from(x)),
          m: tensor(BigInt64Array.of(m)),
        });
        same(await y?.data(), wanted, `m = ${m}`);
        same(y?.shape, [wanted.length], 'shape');
      };
      for (const each of runs) await run(each);
      const {kernels} = model.report();
      for (const [at, count] of Object.entries(times)) {
        same(kernels[Number(at)]?.times, count, `times of launch ${at}`);
      }
      await Promise.all(runs.map(run)); // at the same time, each with its own result
    });
  }
}

for (const kind of ['webgpu', 'webgl'] as const) {
  tests.set(`${kind}: what it cannot compute runs on the side`, async () => {
    using model = await load(await sidePackage(kind));
    const x = (n: number) => tensor(Float32Array.from({length: n}, (_, at) => at));
    const d = tensor(Float64Array.of(Math.PI, 1e300));
    for (const [n, q] of [[5, -7n], [100, 2n ** 31n - 1n], [0, 0n], [3, 9n]] as const) {
      const out = await model.run({x: x(n), d, q: tensor(BigInt64Array.of(q))});
      same(await out['y']?.data(), Float32Array.from({length: n}, (_, at) => at + 111), 'y');
      same(await out['d2']?.data(), [2 * Math.PI, 2e300], 'd2');
      same(await out['r']?.data(), [q], 'r');
      same(await out['v']?.data(), [2.5], 'v');
      same(await out['u']?.data(), [2.5], 'u');
    }
    const large = tensor(BigInt64Array.of(2n ** 31n));
    await rejects(model.run({x: x(1), d, q: large}), 'input', /"r": element 0 is 2147483648/);
    const {kernels, copies, fallbacks, device} = model.report();
    same(device, kind, 'device');
    same(
      kernels.map((each) => [each.device, each.phase, each.reason === undefined]),
      [
        ['wasm', 'init', false], [kind, 'run', true], ['wasm', 'run', false],
        [kind, 'run', true], ['wasm', 'run', false],
      ],
      'kernels',
    );
    same(
      copies,
      [
        {tensor: 'state', from: kind, to: 'wasm', times: 2},
        {tensor: 'added', from: 'wasm', to: kind, times: 2},
      ],
      'copies of a run that failed at its third',
    );
    same(fallbacks.map(({what}) => what), ['Add "one" on wasm', 'Mul "d2" on wasm'], 'fallbacks');
    check(/no f64/.test(fallbacks[0]?.reason ?? ''), 'no reason');
    const strict = load(await sidePackage(kind), {strict: true});
    await rejects(strict, 'unsupported', /strict: Add "one" on wasm: .*no f64/);
  });
}

tests.set('wasm: two threads', async () => {
  await runsRight('wasm', {threads: 2, strict: true});
  using model = await load(await tinyPackage('wasm', {n: 4}), {threads: 2});
  same(model.report().threads, 2, 'threads');
  check(model.report().adapter.includes('worker'), model.report().adapter);
});

tests.set('wasm: many runs on three threads', async () => {
  using model = await load(await tinyPackage('wasm', {n: 60_000}), {threads: 3, strict: true});
  for (let turn = 0; turn < 100; ++turn) {
    const {y} = await model.run({x: ramp(60_000), k});
    const values = await y?.data();
    for (let at = 0; at < 60_000; ++at) check(values?.[at] === 5 * at + 3, `turn ${turn}, ${at}`);
  }
});

tests.set('webgpu: a kernel that does not compile is named with its line', async () => {
  const files = await changed('webgpu', 'f32(s[0].y)', 'f32(nothing)');
  await rejects(load(files), 'kernel', /WebGPU refuses kernel "scale" \(Gemm "y"\): .*nothing/s);
});

tests.set('webgl: a kernel that does not compile is named', async () => {
  const files = await changed('webgl', 'float(s1)', 'float(nothing)');
  await rejects(load(files), 'kernel', /WebGL refuses kernel "scale" \(Gemm "y"\): .*nothing/s);
});

tests.set('webgpu: memory that cannot be had is an error, and the model lives on', async () => {
  using model = await load(await tinyPackage('webgpu'));
  const n = 2 ** 28;
  try {
    await model.run({x: tensor(new Float32Array(n), [1, n]), k});
    throw new Error('two buffers of 1 GiB were had');
  } catch (problem) {
    const code = problem instanceof GossamerError ? problem.code : '';
    // Some adapters have such limits, but not the memory.
    if (code !== 'unsupported' && code !== 'out-of-memory') throw problem;
  }
  const {y} = await model.run({x: ramp(4), k});
  same(await y?.data(), [3, 8, 13, 18], 'y');
});

tests.set('webgl: a lost context is a clear error, and the next load works', async () => {
  const {findContext} = await import('../../runtime/src/devices/webgl/context.ts');
  using model = await load(await tinyPackage('webgl', {n: 4}));
  const context = findContext();
  if (typeof context === 'string') throw new Error(context);
  context.gl.getExtension('WEBGL_lose_context')?.loseContext();
  await rejects(model.run({x: ramp(4), k}), 'lost', /context was lost: load the model again/);
  await runsRight('webgl', {});
});

tests.set('webgpu: a lost device is a clear error, and the next load works', async () => {
  const {getGpu} = await import('../../runtime/src/devices/webgpu/adapter.ts');
  using model = await load(await tinyPackage('webgpu', {n: 4}));
  const gpu = await getGpu();
  gpu.device.destroy();
  await gpu.device.lost;
  await rejects(model.run({x: ramp(4), k}), 'lost', /device was lost/);
  await runsRight('webgpu', {});
});

tests.set('auto takes webgpu where the browser has it', async () => {
  using model = await load(await tinyFolder({n: 4}));
  same(model.report().device, 'webgpu', 'device');
  same(model.report().fallbacks, [], 'fallbacks');
});

tests.set('auto goes on to webgl and then wasm, and says why', async () => {
  const gpu = await changed('webgpu', 'f32(s[0].y)', 'f32(nothing)');
  const files = await tinyFolder({n: 4});
  for (const [name, bytes] of gpu) files.set(`webgpu/${name}`, bytes);
  using model = await load(files);
  same(model.report().device, 'webgl', 'device');
  check(/refuses kernel "scale" \(Gemm "y"\)/.test(model.report().fallbacks[0]?.reason ?? ''), 'no reason');
});

tests.set('auto: a need that the adapter lacks is a reason', async () => {
  const files = await tinyFolder({n: 4});
  const needy = await tinyPackage('webgpu', {n: 4, needs: ['webgpu-dreams']});
  for (const [name, bytes] of needy) files.set(`webgpu/${name}`, bytes);
  await rejects(load(files, {device: 'webgpu'}), 'unsupported', /needs webgpu-dreams/);
  using model = await load(files);
  same(model.report().device, 'webgl', 'device');
});

tests.set('downloads a folder, and notices what is missing or cut off', async () => {
  using model = await load('/tiny/', {device: 'wasm'});
  const {y} = await model.run({x: ramp(4), k});
  same(await y?.data(), [3, 8, 13, 18], 'y');
  await rejects(load('/nowhere/'), 'source', /nowhere\/ has no index\.json and no manifest\.json: .*answered 404/);
  await rejects(load('/cut/wasm/'), 'damaged', /kernels\.wasm has \d+ bytes instead of \d+/);
  const stop = new AbortController();
  const loading = load('/tiny/', {signal: stop.signal});
  stop.abort(new GossamerError('source', 'stopped by the user'));
  await rejects(loading, 'source', /stopped by the user/);
});

addCaches(tests);
addShards(tests);
addBadInput(tests);
addTrouble(tests);
addRecovery(tests);
addFeeds(tests, ['webgpu', 'webgl', 'wasm']);
addDeviceTensors(tests, ['webgpu', 'webgl', 'wasm']);
addImages(tests);
addLaunches(tests);
addProfiles(tests);
addEndedWorkers(tests);

/** Only called on a page that is not cross-origin isolated. */
tests.set('not isolated: one thread, and the report says why', async () => {
  using model = await load(await tinyPackage('wasm', {n: 4}), {threads: 2});
  same(model.report().threads, 1, 'threads');
  check(/cross-origin isolated/.test(model.report().fallbacks[0]?.reason ?? ''), 'no reason');
  await rejects(
    load(await tinyPackage('wasm', {n: 4}), {threads: 2, strict: true}),
    'unsupported',
    /strict: one thread instead of 2/,
  );
});

async function runTest(name: string): Promise<string> {
  try {
    await tests.get(name)?.();
    return '';
  } catch (problem) {
    return problem instanceof Error ? `${problem.message}\n${problem.stack}` : String(problem);
  }
}

Object.assign(globalThis, {listTests: () => [...tests.keys()], runTest});
