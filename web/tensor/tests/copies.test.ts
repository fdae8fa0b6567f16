import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Tensor} from '../src/index.ts';
import {skip} from './start.ts';

test('a copy lies in the memory of one that was given up, and what was asked of that is still right', {skip}, async () => {
  const count = 1 << 15; // elements from which memory is kept
  for (let turn = 1; turn < 4; ++turn) {
    const given = new Tensor(new Float32Array(count).fill(turn));
    const [read, sum] = [given.data(), given.sum().data()];
    given.dispose();
    const next = new Tensor(new Float32Array(count).fill(-turn));
    assert.deepEqual([(await read)[7], (await sum)[0]], [turn, turn * count]);
    assert.equal((await next.data())[7], -turn);
    next.dispose();
  }
});
