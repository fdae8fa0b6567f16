import assert from 'node:assert/strict';
import {test} from 'node:test';
import {setFlagsFromString} from 'node:v8';

import {type FileMap, kernelsWasm, seal, tinyPackage, withFile} from '../../tests/fixtures/tiny.ts';
import {load, type Model, tensor} from '../src/index.ts';
import {hasRelaxedDots} from '../src/dots/dots.ts';
import {hasRelaxedSimd} from '../src/devices/wasm/features.ts';

const PLAIN = 'kernels.wasm';
const RELAXED = 'kernels.relaxed.wasm';
const DOTS = 'kernels.dots.wasm';
const feeds = (): Record<string, ReturnType<typeof tensor>> => ({
  x: tensor(new Float32Array([1, 2, 3]), [1, 3]),
  k: tensor(new BigInt64Array([3n, 4n]), [2]),
});

/** The tiny package with both kinds of kernels; relaxed ones are named apart and take launches of their own. */
async function bothKinds(): Promise<FileMap> {
  const files = await tinyPackage('wasm', {n: 3});
  const manifest = JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as {
    kernels: Record<string, unknown>[];
    run: Record<string, unknown>[];
  };
  files.delete('manifest.json');
  files.set(RELAXED, kernelsWasm());
  const [first, ...rest] = manifest.run;
  const {scalars, range, kernel} = first as {kernel: number; scalars: unknown; range: unknown};
  const kernels = [...manifest.kernels, {...manifest.kernels[kernel], name: 'scale.relaxed'}];
  const run = [{...first, hardware: {kernel: kernels.length - 1, scalars, range}}, ...rest];
  return seal({...manifest, kernels, run}, files);
}

const start = async (without: string): Promise<Model> =>
  load(withFile(await bothKinds(), without, undefined), {device: 'wasm'});
const kernelsOf = (model: Model): string[] => model.report().kernels.map(({name}) => name);

async function takes(kind: 'plain' | 'relaxed'): Promise<void> {
  const mine = kind === 'plain' ? PLAIN : RELAXED;
  const other = kind === 'plain' ? RELAXED : PLAIN;
  const model = await start(other); // which nobody asks for
  assert.equal(model.report().adapter.includes('relaxed'), kind === 'relaxed');
  assert.equal(kernelsOf(model).includes('scale.relaxed'), kind === 'relaxed');
  const out = await model.run(feeds());
  assert.equal((await out['y']?.data())?.length, 3);
  model.dispose();
  await assert.rejects(start(mine), new RegExp(mine.replaceAll('.', '\\.')));
}

test('an engine without relaxed SIMD takes the plain kernels and never fetches the others', async () => {
  const {validate} = WebAssembly;
  WebAssembly.validate = (bytes) => (bytes as Uint8Array).length < 60 && validate(bytes);
  try {
    assert.equal(hasRelaxedSimd(), false);
    await takes('plain');
  } finally {
    WebAssembly.validate = validate;
  }
});

test('one that has it takes these alone, with their launches', async () => {
  setFlagsFromString('--experimental-wasm-relaxed-simd'); // Node.js 20
  assert.equal(hasRelaxedSimd(), true);
  await takes('relaxed');
});

test('one that computes wrong with it takes the plain ones', async () => {
  setFlagsFromString('--experimental-wasm-relaxed-simd');
  const {Instance} = WebAssembly;
  const right = new Instance(new WebAssembly.Module(await probe())).exports['f'] as (...args: number[]) => number[];
  try {
    for (const at of [0, 1]) {
      await withProbe((...args) => right(...args).map((value, lane) => (lane === at ? value + 1 : value)), () => takes('plain'));
    }
    // The products rounded to less than 32 bits have.
    const coarse = (value: number): number => Number(value.toPrecision(3));
    await withProbe((...args) => right(...args).map(coarse), () => takes('plain'));
    await withProbe(right, () => takes('relaxed'));
  } finally {
    WebAssembly.Instance = Instance;
  }
});

test('products of bytes by relaxed SIMD are for engines where they are exact', async () => {
  setFlagsFromString('--experimental-wasm-relaxed-simd');
  const {Instance} = WebAssembly;
  const relaxed = new Instance(new WebAssembly.Module(await probe())).exports['f'] as (...args: number[]) => unknown;
  const files = await bothKinds();
  const manifest = JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as Record<string, unknown>;
  files.delete('manifest.json');
  files.set(DOTS, kernelsWasm());
  const sealed = await seal(manifest, files);
  // Exact; with sums of two products that saturate; with both sides signed.
  const engines = [[129547, -130553], [65541, -65529], [-501, 519]];
  for (const [at, sums] of engines.entries()) {
    const f = (...args: number[]): unknown => (args.length === 3 ? relaxed(...args) : sums[args[0] === 0x7f7f7f7f ? 0 : 1]);
    const mine = at === 0 ? DOTS : RELAXED;
    await withProbe(f, async () => {
      assert.equal(hasRelaxedDots(), at === 0);
      await assert.rejects(load(withFile(sealed, mine, undefined), {device: 'wasm'}), new RegExp(mine.replaceAll('.', '\\.')));
    });
  }
  WebAssembly.Instance = Instance;
});

/** The module that the probe instantiates. */
function probe(): Promise<Uint8Array<ArrayBuffer>> {
  const {validate} = WebAssembly;
  return new Promise((resolve) => {
    WebAssembly.validate = (bytes) => {
      if ((bytes as Uint8Array).length > 60) resolve(bytes as Uint8Array<ArrayBuffer>);
      return validate(bytes);
    };
    hasRelaxedSimd();
    WebAssembly.validate = validate;
  });
}

async function withProbe(f: (...args: number[]) => unknown, body: () => Promise<void>): Promise<void> {
  WebAssembly.Instance = function Fake() {
    return {exports: {f}};
  } as unknown as typeof WebAssembly.Instance;
  await body();
}
