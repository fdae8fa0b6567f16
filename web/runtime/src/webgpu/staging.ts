/** Buffers through which results are read: those at rest are kept for the next reads, up to a limit. */
import {about, GossamerError} from '../types.ts';
import type {Gpu} from './adapter.ts';
import {alive, checked} from './checked.ts';

/** Bytes of buffers at rest; the longest unused goes first. */
export const KEPT_BYTES = 64 * 2 ** 20;

/** A size class: eight to each power of two, so that outputs of about one size share buffers. */
function classOf(bytes: number): number {
  const step = Math.max(256, 2 ** (Math.ceil(Math.log2(bytes)) - 3));
  return Math.ceil(bytes / step) * step;
}

export class Staging {
  readonly #gpu: Gpu;
  /** At rest, the one used last at the end. */
  readonly #rest: GPUBuffer[] = [];
  #limit = KEPT_BYTES;
  constructor(gpu: Gpu) {
    this.#gpu = gpu;
  }

  /** The first `bytes` bytes. Throws 'out-of-memory' and 'lost'. */
  async read(source: GPUBuffer, bytes: number): Promise<Uint8Array> {
    const device = alive(this.#gpu);
    const size = Math.ceil(bytes / 4) * 4;
    const room = Math.min(classOf(size), device.limits.maxBufferSize);
    const at = this.#rest.findIndex((each) => each.size === room);
    const [kept] = at < 0 ? [] : this.#rest.splice(at, 1);
    let staging = kept as GPUBuffer;
    const copy = (): void => {
      staging ??= device.createBuffer({
        size: room,
        usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(source, 0, staging, 0, size);
      device.queue.submit([encoder.finish()]);
    };
    try {
      // What was had before is valid: only a new buffer may fail.
      const sent = kept ? copy() : checked(this.#gpu, `a staging buffer of ${room} bytes`, copy);
      const mapped = this.#gpu.life.guard(staging.mapAsync(GPUMapMode.READ, 0, size));
      mapped.catch(() => undefined);
      await sent;
      await mapped;
      const result = new Uint8Array(staging.getMappedRange(0, size).slice(0, bytes));
      staging.unmap();
      this.#keep(staging);
      return result;
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
