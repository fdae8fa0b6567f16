import assert from 'node:assert/strict';
import {test} from 'node:test';

import {addDeviceTensors, alternates, grows} from '../../tests/browser/device_tensors.ts';
import {tinyPackage} from '../../tests/fixtures/tiny.ts';
import type {Buffer, Device, Room} from '../src/devices/device.ts';
import type {Block} from '../src/devices/home.ts';
import {load, openDevice} from '../src/index.ts';
import {Blocks} from '../src/tensors/blocks.ts';
import {WasmEngine} from '../src/devices/wasm/engine.ts';

const tests = new Map<string, () => Promise<void>>();
addDeviceTensors(tests, ['wasm']);
for (const [name, body] of tests) test(name, body);

test('runs on tensors of the device allocate nothing', async (context) => {
  for (const n of [4, undefined]) {
    using device = await openDevice('wasm');
    using model = await load(await tinyPackage('wasm', {n}), {device});
    await alternates(device, model, 6);
    const {mock: allocations} = context.mock.method(WasmEngine.prototype, 'allocate');
    const {mock: copies} = context.mock.method(WasmEngine.prototype, 'copy');
    const {mock: writes} = context.mock.method(WasmEngine.prototype, 'write');
    const {mock: reads} = context.mock.method(WasmEngine.prototype, 'read');
    await alternates(device, model, 100);
    const calls = [allocations, copies, reads, writes].map((mock) => mock.callCount());
    assert.deepEqual(calls, [0, 0, 0, 101]); // the first x, and k of each run
    assert.equal(device.memory().tensors, 0);
  }
});

test('a longer sequence makes no table anew', async (context) => {
  using device = await openDevice('wasm');
  using model = await load(await tinyPackage('wasm'), {device});
  await grows(device, model, 2, 6);
  const {mock: allocations} = context.mock.method(WasmEngine.prototype, 'allocate');
  const {mock: updates} = context.mock.method(WasmEngine.prototype, 'update');
  await grows(device, model, 8, 60); // within one class of sizes
  assert.deepEqual([allocations.callCount(), updates.callCount()], [0, 27]);
});

test('memory at rest is taken in one order, whatever the order in which it was given back', async () => {
  const createBuffers = (rooms: readonly Room[]): Promise<Buffer[]> => Promise.resolve(rooms.map(({extent}) => ({extent, dispose: () => undefined})));
  const blocks = new Blocks({createBuffers} as Partial<Device> as Device);
  const take = async (): Promise<Block[]> => {
    const all: Block[] = [];
    for (let at = 0; at < 4; ++at) all.push(await blocks.take({bytes: 64}, 'f32', 'a tensor'));
    return all;
  };
  const first = await take();
  for (const at of [2, 0, 3, 1]) blocks.release(first[at] as Block);
  assert.deepEqual((await take()).map(({id}) => id), first.map(({id}) => id));
});
