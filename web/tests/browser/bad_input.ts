/** What a user can get wrong, or the network: each is a clear error, and what worked before still works. */
import {GossamerError, load, type Tensor, tensor} from '../../runtime/src/index.ts';
import {tinyFolder, tinyPackage, withFile, withManifest} from '../fixtures/tiny.ts';
import {check, k, ramp, rejects, same} from './check.ts';

type Tests = Map<string, () => Promise<void>>;

async function wrongFeeds(kind: 'webgpu' | 'webgl' | 'wasm'): Promise<void> {
  using model = await load(await tinyPackage(kind));
  const x = ramp(4);
  const cut = {data: new Float32Array(3), shape: [1, 4], dtype: 'f32'} as unknown as Tensor;
  const wrong: [Record<string, Tensor>, RegExp][] = [
    [{x}, /input "k" is missing: it wants i64 \[2\]/],
    [{x, k, z: x}, /no input "z"; it has "x", "k"/],
    [{x: tensor(new Int32Array(4), [1, 4]), k}, /"x" wants f32 \[1, n\], the tensor is i32 \[1, 4\]/],
    [{x: tensor(new Float32Array(4), [4]), k}, /"x" wants f32 \[1, n\], the tensor is f32 \[4\]/],
    [{x, k: tensor(BigInt64Array.of(1n))}, /"k" wants i64 \[2\], the tensor is i64 \[1\]/],
    [{x: cut, k}, /"x": shape \[1, 4\] has 4 elements, the data has 3/],
    [{x: ramp(3), k}, /n must be even/],
  ];
  for (const [feeds, message] of wrong) await rejects(model.run(feeds), 'input', message);
  const {y} = await model.run({x, k});
  same(await y?.data(), [3, 8, 13, 18], 'y');
}

async function damaged(kind: 'webgpu' | 'webgl' | 'wasm'): Promise<void> {
  const good = await tinyPackage(kind, {n: 4});
  for (const [name, bytes] of good) {
    if (name === 'manifest.json') continue;
    const changed = bytes.slice();
    changed[bytes.length - 1] = 255 - (changed[bytes.length - 1] ?? 0);
    await rejects(load(withFile(good, name, changed)), 'damaged', new RegExp(`${name} has hash \\w+ instead of`));
    const cut = bytes.subarray(0, bytes.length - 1);
    await rejects(load(withFile(good, name, cut)), 'damaged', new RegExp(`${name} has \\d+ bytes instead of`));
    await rejects(load(withFile(good, name, undefined)), 'source', new RegExp(`${name} is missing`));
  }
  await rejects(load(await tinyPackage(kind, {version: 7})), 'version', /version 7, this run time knows 2/);
  const text = withFile(good, 'manifest.json', new TextEncoder().encode('{"format": '));
  await rejects(load(text), 'damaged', /manifest\.json is not JSON/);
  const other = withManifest(good, (manifest) => Object.assign(manifest, {format: 'a letter'}));
  await rejects(load(other), 'damaged', /not that of a gossamer package/);
  const cpu = withManifest(good, (manifest) => Object.assign(manifest, {target: 'cpu'}));
  await rejects(load(cpu), 'unsupported', /compiled for cpu, not for browsers/);
  using model = await load(good);
  same(model.report().device, kind, 'device');
}

async function tooLarge(kind: 'webgpu' | 'webgl' | 'wasm'): Promise<void> {
  const files = withManifest(await tinyPackage(kind, {n: 4}), (manifest) => {
    const slot = manifest.slots[0] ?? {};
    Object.assign(slot, kind === 'webgl' ? {width: 60_000, height: 60_000} : {bytes: 2 ** 40});
  });
  try {
    using model = await load(files);
    await model.run({x: ramp(4), k});
  } catch (problem) {
    const code = problem instanceof GossamerError ? problem.code : '';
    if (code !== 'unsupported' && code !== 'out-of-memory') throw problem;
    check(/\d/.test(String(problem)), `no size in: ${String(problem)}`);
    return;
  }
  throw new Error('memory was had that no device has');
}

async function downloads(): Promise<void> {
  await rejects(load('/changed/', {device: 'wasm'}), 'damaged', /kernels\.wasm has hash \w+ instead of/);
  // The server stops in the middle of a file, then the connection ends.
  await rejects(load('/dies/', {device: 'wasm'}), 'source', /kernels\.wasm/);
  // The server stops in the middle of a file, and the user gives up.
  const stop = new AbortController();
  const loading = load('/stalls/', {
    device: 'wasm',
    signal: stop.signal,
    onProgress: ({stage, done}) => {
      if (stage === 'download' && done > 0) setTimeout(() => stop.abort(new Error('enough')), 50);
    },
  });
  await loading.then(
    () => check(false, 'loaded what never came'),
    (problem: unknown) => same(problem instanceof Error && problem.message, 'enough', 'reason'),
  );
}

/** Where `lacks` are not to be had, auto takes what is left and says why; a device by name is an error. */
async function without(lacks: readonly (readonly ['webgpu' | 'webgl', RegExp])[], takes: string): Promise<void> {
  const files = await tinyFolder({n: 4});
  using model = await load(files);
  same(model.report().device, takes, 'device');
  const {fallbacks} = model.report();
  for (const [at, [kind, reason]] of lacks.entries()) {
    same(fallbacks[at]?.what, `not ${kind}`, 'fallback');
    check(reason.test(fallbacks[at]?.reason ?? ''), `reason: ${fallbacks[at]?.reason}`);
    await rejects(load(files, {device: kind}), 'unsupported', reason);
  }
  await rejects(load(files, {strict: true}), 'unsupported', /strict: not webgpu/);
  const {y} = await model.run({x: ramp(4), k});
  same(await y?.data(), [3, 8, 13, 18], 'y');
}

/** Those called "bare ..." run in a browser of their own (browser.test.ts). */
export function addBadInput(tests: Tests): void {
  for (const kind of ['webgpu', 'webgl', 'wasm'] as const) {
    tests.set(`${kind}: wrong inputs are named, and the model works on`, () => wrongFeeds(kind));
    tests.set(`${kind}: a damaged package says which file`, () => damaged(kind));
    tests.set(`${kind}: memory that no device has`, () => tooLarge(kind));
  }
  tests.set('downloads that break or are given up', downloads);
  tests.set('bare insecure: auto takes webgl, and says what WebGPU needs', () =>
    without([['webgpu', /WebGPU needs a secure context/]], 'webgl'),
  );
  tests.set('bare no GPU: auto takes wasm, and says what is missing', () =>
    without([['webgpu', /WebGPU found no adapter/], ['webgl', /no WebGL 2/]], 'wasm'),
  );
}
