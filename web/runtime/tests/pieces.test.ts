import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Pieces} from '../src/package/pieces.ts';
import {copyOf} from '../src/shards/copy.ts';

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

test('a file is taken and copied as it arrives, and memory goes when both have a piece', async () => {
  const blocks = [bytes(0, 8), bytes(8, 16), bytes(16, 20)];
  const file = new Pieces([], true, 20);
  const reader = copyOf(file, 6).stream.getReader();
  const next = async (): Promise<number[] | undefined> => {
    const {value} = await reader.read();
    return value && [...value];
  };
  const waiting = file.here(9);
  const [first, second, third] = blocks as [Uint8Array, Uint8Array, Uint8Array];
  file.push(first);
  assert.equal(await file.here(3), 8);
  assert.deepEqual([...file.peek(2)], [0, 1]);
  assert.deepEqual([...file.take(0, 8)], [...bytes(0, 8)]);
  assert.deepEqual(await next(), [...bytes(0, 6)]);
  assert.deepEqual(await next(), [6, 7]);
  assert.equal(first.length, 8, 'the copy still has its last part');
  file.push(second);
  assert.equal(await waiting, 16);
  assert.deepEqual(await next(), [...bytes(8, 14)]);
  assert.equal(first.length, 0);
  file.dispose();
  assert.equal(second.length, 8, 'it is not copied yet');
  file.push(third);
  assert.deepEqual([await next(), await next(), await next()], [[14, 15], [...bytes(16, 20)], undefined]);
  assert.deepEqual(blocks.map(({length}) => length), [0, 0, 0]);
});

test('what waits for a file that does not come is told', async () => {
  const file = new Pieces([], true, 20);
  file.push(bytes(0, 8));
  const reader = copyOf(file, 8).stream.getReader();
  assert.deepEqual([...((await reader.read()).value as Uint8Array)], [...bytes(0, 8)]);
  const waiting = Promise.allSettled([file.here(), reader.read()]);
  file.fail(new Error('cut off'));
  assert.deepEqual((await waiting).map(({status}) => status), ['rejected', 'rejected']);
  assert.equal(await file.here(8), 8);
});

test('more bytes wait until the copy is close enough behind, or ends', async () => {
  const file = new Pieces([], true, 20);
  const {stream, end} = copyOf(file, 6, 4);
  const reader = stream.getReader();
  await file.hold?.();
  file.push(bytes(0, 8));
  const seen: string[] = [];
  const waiting = file.hold?.().then(() => seen.push('here'));
  await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(seen, [], 'what was given last is still in memory');
  await reader.read();
  await waiting;
  file.push(bytes(8, 16));
  const other = file.hold?.();
  end();
  await other;
});
