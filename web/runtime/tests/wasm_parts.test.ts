import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {test} from 'node:test';

import {kernelsWasm} from '../../tests/fixtures/tiny.ts';
import type {Launch} from '../src/devices/device.ts';
import {Sha256} from '../src/hash/sha256.ts';
import {Xxh3} from '../src/hash/xxh3.ts';
import {Arena} from '../src/devices/wasm/arena.ts';
import {WasmEngine} from '../src/devices/wasm/engine.ts';
import {hasRelaxedSimd, hasSimd} from '../src/devices/wasm/features.ts';
import {withMemoryLimits} from '../src/devices/wasm/memory_import.ts';
import type {SharedKernels} from '../src/devices/wasm/pool.ts';
import {type Table, tableOf} from '../src/devices/wasm/table.ts';

const hashOf = async (bytes: Uint8Array, piece = bytes.length || 1): Promise<string> => {
  const hash = await Xxh3.create();
  for (let at = 0; at < bytes.length; at += piece) hash.update(bytes.subarray(at, at + piece));
  return hash.digest();
};

test('xxh3 has the published values, in one piece or in many', async () => {
  assert.equal(await hashOf(new Uint8Array()), '2d06800538d394c2');
  assert.equal(await hashOf(new TextEncoder().encode('abc')), '78af5f94892f3950');
  const long = Uint8Array.from({length: 1_000_003}, (_, at) => at * 7);
  assert.equal(await hashOf(long, 777), await hashOf(long));
});

test('SHA-256 is that of others, whatever the length and the pieces', async () => {
  const long = Uint8Array.from({length: 200_003}, (_, at) => at * 7);
  const lengths = [0, 1, 55, 56, 63, 64, 65, 119, 65535, 65536, 65537, 65591, 131071, 131072, long.length];
  for (const length of lengths) {
    const bytes = long.subarray(0, length);
    for (const piece of [777, 64, 65536, long.length]) {
      const hash = await Sha256.create();
      for (let at = 0; at < length; at += piece) hash.update(bytes.subarray(at, at + piece));
      assert.equal(hash.digest(), createHash('sha256').update(bytes).digest('hex'), `${length} in ${piece}`);
    }
  }
});

test('the memory import takes any limits', async () => {
  const shapes = [
    {minimum: 0, maximum: 3, shared: false},
    {minimum: 1, maximum: 65536, shared: false},
    {minimum: 1, maximum: 200, shared: true},
  ];
  let module = kernelsWasm();
  for (const limits of shapes) {
    module = withMemoryLimits(module, limits);
    const memory = new WebAssembly.Memory({
      initial: 1,
      maximum: limits.maximum,
      shared: limits.shared,
    });
    const compiled = await WebAssembly.compile(module as Uint8Array<ArrayBuffer>);
    await WebAssembly.instantiate(compiled, {env: {memory}});
  }
  const cut = kernelsWasm().subarray(0, kernelsWasm().indexOf(0x6d, 20) + 2); // in "env" "memory"
  assert.equal(withMemoryLimits(Uint8Array.of(1, 2, 3), shapes[0]!).length, 3); // left to the engine
  assert.throws(() => withMemoryLimits(cut, shapes[0]!), /too early/);
});

test('the arena gives aligned blocks, merges what is freed and grows by pages', () => {
  let size = 65536;
  const arena = new Arena(4096, size, 4 * 65536, (end) => (size = end));
  const first = arena.allocate(100);
  const second = arena.allocate(5000);
  assert.equal(first, 4096);
  assert.equal(second % 64, 0);
  assert.ok(second >= first + 100 + 64);
  arena.free(first);
  arena.free(second);
  const large = arena.allocate(100_000);
  assert.equal(large, 4096);
  assert.ok(size >= large + 100_000 + 64 && size % 65536 === 0);
  assert.throws(() => arena.allocate(10_000_000), /no room for 10000000 bytes/);
  const third = arena.allocate(10);
  assert.ok(third >= large + 100_000);
});

test('launches are shared where their fastest of four runs says that it pays', async (context) => {
  const engine = new WasmEngine(true);
  const {shared: kernels} = await engine.load(withMemoryLimits(kernelsWasm(), engine.limits), ['k0', 'twice'], undefined, 1);
  engine.join(2); // The first thread does the work of all, since no other comes.
  const control = new Int32Array((kernels as SharedKernels).memory.buffer, 0, 1);
  const [weight = 0, other = 0, ...tables] = engine.allocate([4, 64, 256, 256]);
  const launch = {kernel: 1, name: 'twice', buffers: [], storage: [], scalars: [weight, other], range: 1};
  const record = (at: number, launches: readonly Launch[]): void => {
    engine.write(tables[at] ?? 0, new Uint8Array(tableOf(launches, () => 0).buffer));
  };
  const tablesOf = (at: number): Table[] => [[tables[at] ?? 0, at === 0 ? 2 : 1]];
  record(0, [{...launch, range: 16}, launch]);
  let now = 0;
  const times: number[] = [];
  context.mock.method(performance, 'now', () => (now += times.shift() ?? 0));
  const shared = async (at: number, ...ms: number[]): Promise<number> => {
    const before = (control[0] ?? 0) >>> 16;
    for (const each of ms) {
      // Before all launches, before this one (waiting there is none of), after it, after all.
      times.push(0, 0, each);
      await engine.compute(tablesOf(at));
    }
    return ((control[0] ?? 0) >>> 16) - before;
  };
  assert.equal(await shared(0, 9, 0.01, 0.01, 0.01), 4); // the first compiles
  assert.equal(await shared(0, 9, 9, 9), 0);
  record(1, [{...launch, range: 16}]);
  assert.equal(await shared(1, 9, 0.1, 9, 9, 0.01, 0.01), 6);
  assert.ok(engine.timeOf(tablesOf(0)) < 1e4); // each by itself, so the time of one thread is known
  assert.ok(engine.timeOf(tablesOf(1)) > 1e9);
});

test('feature probes answer', () => {
  assert.equal(hasSimd(), true);
  assert.equal(typeof hasRelaxedSimd(), 'boolean');
});
