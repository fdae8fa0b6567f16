import assert from 'node:assert/strict';
import {test} from 'node:test';

import {setNumThreads, Tensor} from '../src/index.ts';
import {skip} from './start.ts';

test('threads are chosen before the first program', {skip}, async () => {
  assert.throws(() => setNumThreads(0), /0 threads/);
  setNumThreads(2);
  assert.equal(await Tensor.ones([1000]).sum().item(), 1000);
  assert.throws(() => setNumThreads(1), /a program has run already/);
});
