import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Tensor} from '../src/index.ts';
import {skip} from './start.ts';

test('a copy lies in the memory of one that was given up, and what was asked of that is still right', {skip}, async () => {
  const count = 1 << 15; // elements from which memory is kept
  const filled = (value: number): Tensor => new Tensor(new Float32Array(count).fill(value));
  const asked = [
    async (tensor: Tensor): Promise<unknown> => (await tensor.data())[7],
    async (tensor: Tensor): Promise<unknown> => (await tensor.sum().item()) / count,
  ];
  for (const [turn, ask] of [...asked, ...asked].entries()) {
    const given = filled(turn);
    const answer = ask(given);
    given.dispose();
    const next = filled(-1);
    assert.equal(await answer, turn);
    assert.equal((await next.data())[7], -1);
    next.dispose();
  }
});
