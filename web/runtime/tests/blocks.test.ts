import assert from 'node:assert/strict';
import {test} from 'node:test';

import type {Buffer, Device, Room} from '../src/devices/device.ts';
import type {Block} from '../src/devices/home.ts';
import {Blocks} from '../src/tensors/blocks.ts';

const device = {
  createBuffers: (rooms: readonly Room[]) => Promise.resolve(rooms.map(({extent}): Buffer => ({extent, dispose: () => undefined}))),
} as unknown as Device;

test('of any number alike at rest the oldest is taken, in whatever order they came back', async () => {
  const pool = new Blocks(device);
  const take = async (count: number): Promise<Block[]> => {
    const taken: Block[] = [];
    while (taken.length < count) taken.push(await pool.take({bytes: 64}, 'f32', 'a tensor'));
    return taken;
  };
  const all = await take(300);
  const ids = all.map(({id}) => id).sort((a, b) => a - b);
  // Neither as they were made nor the other way round.
  for (let at = 0; at < 300; ++at) pool.release(all[(at * 7) % 300] as Block);
  for (let turn = 0; turn < 3; ++turn) {
    const two = await take(2);
    assert.deepEqual(two.map(({id}) => id), ids.slice(0, 2));
    pool.claim(all.find(({id}) => id === ids[200 + turn]) as Block);
    for (const block of two) pool.release(block);
  }
  assert.deepEqual((await take(297)).map(({id}) => id), ids.filter((_, at) => at < 200 || at > 202));
});
