/** A second reader of a file that arrives. */
import {BLOCK} from '../package/blocks.ts';
import type {Pieces} from '../package/pieces.ts';

/** Is read at a time: of larger parts browsers keep copies until some collection. */
const PART = 2 ** 20;

/** More bytes of a file are not fetched while the reader is so far behind: they are in memory. */
const LAG = 4 * BLOCK;

/** A stream that ends where the file is as listed, else fails. After `end` the file waits for it no more. To be asked for before anything is taken. */
export function copyOf(file: Pieces, most = PART, lag = LAG): {stream: ReadableStream<Uint8Array>; end: () => void} {
  let at = 0;
  let had = 0;
  const waiting: (() => void)[] = [];
  const setHad = (count: number): void => {
    file.copied = had = count;
    for (const wake of waiting.splice(0)) wake();
  };
  const end = (): void => setHad(Infinity);
  const pull = async (stream: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    setHad(at);
    if ((await file.here(at + 1)) === at) {
      end();
      return stream.close();
    }
    const piece = file.kept.find(({begin, bytes}) => at < begin + bytes.length);
    const part = piece?.bytes.subarray(at - piece.begin, Math.min(at + most, file.length) - piece.begin) ?? new Uint8Array();
    at += part.length;
    stream.enqueue(part);
  };
  file.hold = async () => {
    while ((await file.here(0)) - had > lag) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  setHad(0);
  return {stream: new ReadableStream({pull, cancel: end}, {highWaterMark: 0}), end};
}
