/** Memory of tensors that stay on a device: what one has no use for is the next one's. */
import type {Buffer, Device, Extent} from '../devices/device.ts';
import {classOf, sizeOf} from '../devices/extents.ts';
import type {Block, BlockPool} from '../devices/home.ts';
import {type DType, GossamerError} from '../values/types.ts';

/** At rest at least; else as much as is in use. */
const KEPT_BYTES = 64 * 2 ** 20;

let made = 0;

/** Where a block is, or belongs, in a list whose last block is the oldest. */
function placeOf(blocks: readonly Block[], {id}: Block): number {
  let [low, high] = [0, blocks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle] as Block).id > id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Blocks implements BlockPool {
  readonly #device: Device;
  /** At rest, the oldest last. */
  readonly #alike = new Map<string, Block[]>();
  /** In the order in which they came. */
  readonly #resting = new Set<Block>();
  #restingBytes = 0;
  /** Tensors that are there, and bytes in use. */
  tensors = 0;
  bytes = 0;
  #disposed = false;

  constructor(device: Device) {
    this.#device = device;
  }

  get pooled(): number {
    return this.#restingBytes;
  }

  take(extent: Extent, storage: DType, name: string): Block | Promise<Block> {
    const room = 'bytes' in extent ? {bytes: classOf(extent.bytes)} : extent;
    const key = 'bytes' in room ? `${room.bytes}` : `${room.width} ${room.height} ${room.layers} ${storage}`;
    // The oldest, so that a loop comes to take the same ones again and again, in whatever order it gives them back.
    const oldest = this.#alike.get(key)?.at(-1);
    return oldest ? this.claim(oldest) : this.#make(room, storage, name, key);
  }

  /** Somebody else's memory. */
  wrap(buffer: Buffer): Block {
    return {id: ++made, buffer, key: undefined, users: 1};
  }

  async #make(extent: Extent, storage: DType, name: string, key: string): Promise<Block> {
    const make = (): Promise<Buffer[]> => this.#device.createBuffers([{extent, name, storage: [storage]}]);
    const [buffer] = await make().catch((problem: unknown) => {
      const full = problem instanceof GossamerError && problem.code === 'out-of-memory';
      if (!full || this.#resting.size === 0) throw problem;
      this.#shrink(0);
      return make();
    });
    this.bytes += sizeOf(extent);
    return {id: ++made, buffer: buffer as Buffer, key, users: 1};
  }

  claim(block: Block): Block {
    const size = sizeOf(block.buffer.extent);
    this.#resting.delete(block);
    const alike = this.#alike.get(block.key as string) ?? [];
    alike.splice(placeOf(alike, block), 1);
    this.#restingBytes -= size;
    this.bytes += size;
    block.users = 1;
    return block;
  }

  release(block: Block): void {
    if (--block.users > 0 || block.key === undefined) return;
    const size = sizeOf(block.buffer.extent);
    this.bytes -= size;
    if (this.#disposed) {
      block.buffer.dispose();
      return;
    }
    const alike = this.#alike.get(block.key) ?? [];
    alike.splice(placeOf(alike, block), 0, block);
    this.#alike.set(block.key, alike);
    this.#resting.add(block);
    this.#restingBytes += size;
    this.#shrink(Math.max(KEPT_BYTES, this.bytes));
  }

  #shrink(limit: number): void {
    for (const block of this.#resting) {
      if (this.#restingBytes <= limit) return;
      this.claim(block);
      block.users = -1; // no recording may find it at rest
      this.bytes -= sizeOf(block.buffer.extent);
      if (this.#alike.get(block.key as string)?.length === 0) this.#alike.delete(block.key as string);
      block.buffer.dispose();
    }
  }

  dispose(): void {
    this.#disposed = true;
    this.#shrink(-1);
  }
}
