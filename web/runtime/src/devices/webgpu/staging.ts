/** Reading results: all of a submission lie in one buffer, which is mapped once. */
import {classOf} from '../extents.ts';
import type {Read} from '../device.ts';
import {about, GossamerError} from '../../values/types.ts';
import type {Gpu} from './adapter.ts';
import {alive, checked} from './checked.ts';

/** Bytes of buffers at rest; the longest unused goes first. */
export const KEPT_BYTES = 64 * 2 ** 20;

/** Copies are of four bytes, and what is mapped begins at a multiple of eight. */
const roomOf = ({bytes}: Read): number => Math.ceil(bytes / 8) * 8;

const sizeOf = (reads: readonly Read[]): number => reads.reduce((sum, read) => sum + roomOf(read), 0);

/** Puts copies of what is read into a command buffer. */
export type Copy = (encoder: GPUCommandEncoder) => void;

export class Staging {
  readonly #gpu: Gpu;
  readonly #bufferOf: (read: Read) => GPUBuffer;
  /** At rest, the one used last at the end. */
  readonly #rest: GPUBuffer[] = [];
  #limit = KEPT_BYTES;
  constructor(gpu: Gpu, bufferOf: (read: Read) => GPUBuffer) {
    this.#gpu = gpu;
    this.#bufferOf = bufferOf;
  }

  /** What these take, and the place of a buffer at rest for them. */
  #place(reads: readonly Read[]): {bytes: number; size: number; at: number} {
    const bytes = sizeOf(reads);
    const size = Math.min(classOf(bytes), this.#gpu.device.limits.maxBufferSize);
    return {bytes, size, at: this.#rest.findIndex((each) => each.size === size)};
  }

  /** Whether these can be read without a new buffer, so that nothing can go wrong. */
  has(reads: readonly Read[]): boolean {
    return this.#place(reads).at >= 0;
  }

  /** What is read after everything that `send` submits, with the copies in it. Throws 'out-of-memory' and 'lost'. */
  async read(reads: readonly Read[], send: (copy: Copy) => void): Promise<Uint8Array[]> {
    const device = alive(this.#gpu);
    const {bytes, size, at} = this.#place(reads);
    if (bytes === 0) return reads.map(() => new Uint8Array());
    if (bytes > size) return (await Promise.all(reads.map((read) => this.read([read], send)))).flat();
    const [kept] = at < 0 ? [] : this.#rest.splice(at, 1);
    let staging = kept as GPUBuffer;
    const each = <T>(visit: (read: Read, offset: number) => T): T[] => {
      let end = 0;
      return reads.map((read) => visit(read, (end += roomOf(read)) - roomOf(read)));
    };
    const copy: Copy = (encoder) =>
      each((read, offset) =>
        encoder.copyBufferToBuffer(this.#bufferOf(read), read.offset ?? 0, staging, offset, Math.ceil(read.bytes / 4) * 4),
      );
    const make = (): void => {
      const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
      staging = device.createBuffer({size, usage});
      send(copy);
    };
    try {
      // What was had before is valid: only a new buffer may fail.
      const sent = kept ? send(copy) : checked(this.#gpu, `a staging buffer of ${size} bytes`, make);
      const mapped = this.#gpu.life.guard(staging.mapAsync(GPUMapMode.READ, 0, bytes));
      mapped.catch(() => undefined);
      await sent;
      await mapped;
      const range = staging.getMappedRange(0, bytes);
      const results = each((read, offset) => new Uint8Array(range.slice(offset, offset + read.bytes)));
      staging.unmap();
      this.#keep(staging);
      return results;
    } catch (problem) {
      (staging as GPUBuffer | undefined)?.destroy();
      const known = about('reading', problem);
      if (known instanceof GossamerError) throw known;
      throw new GossamerError('lost', 'the result could not be read', {cause: problem});
    }
  }

  #keep(staging: GPUBuffer): void {
    this.#rest.push(staging);
    let bytes = this.#rest.reduce((sum, {size}) => sum + size, 0);
    while (bytes > this.#limit) {
      const oldest = this.#rest.shift() as GPUBuffer;
      bytes -= oldest.size;
      oldest.destroy();
    }
  }

  dispose(): void {
    this.#limit = 0;
    this.#rest.splice(0).forEach((staging) => staging.destroy());
  }
}
