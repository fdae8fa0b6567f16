import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Pieces} from '../src/pieces.ts';

const bytes = (begin: number, end: number): Uint8Array => Uint8Array.from({length: end - begin}, (_, at) => begin + at);

test('ranges are taken with and without a copy, and memory goes with the last of it', () => {
  const blocks = [bytes(0, 8), bytes(8, 16), bytes(16, 20)];
  const file = new Pieces(blocks, true);
  assert.deepEqual([...file.take(0, 4)], [...bytes(0, 4)]);
  const parts: number[][] = [];
  for (const part of file.takeParts(4, 18)) parts.push([...part]);
  assert.deepEqual(parts, [[...bytes(4, 8)], [...bytes(8, 16)], [16, 17]]);
  assert.deepEqual(blocks.map(({length}) => length), [0, 0, 4]);
  assert.deepEqual([...file.take(18, 20)], [18, 19]);
  assert.equal(blocks[2]?.length, 0);
});

test('parts of a range are words where it begins at a word of each piece', () => {
  const file = new Pieces([bytes(0, 8), bytes(8, 18), bytes(18, 24)], false);
  assert.deepEqual([[0, 8], [0, 18], [4, 18], [2, 8], [2, 9], [0, 20], [10, 24]].map(([begin, end]) => file.inWords(begin as number, end as number)),
    [true, true, true, true, false, false, true]);
});
