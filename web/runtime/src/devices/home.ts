/** The devices of a model and its tensors, and memory that belongs to tensors. */
import {openBackend} from './choose.ts';
import type {Buffer, Device, Extent} from './device.ts';
import type {DType, GossamerError} from '../values/types.ts';

/** A buffer that has an identity: recordings are kept by what they bind. */
export interface Block {
  readonly id: number;
  readonly buffer: Buffer;
  /** By what blocks are alike; undefined: of somebody else's memory, which is never another's. */
  readonly key: string | undefined;
  /** Tensors that have it, and runs that will read it. 0: at rest. Less: gone. */
  users: number;
}

/** Memory of tensors that stay on the device: what one has no use for is the next one's. */
export interface BlockPool {
  /** Memory for elements of a type; what it holds is undefined. At once where such a block is at rest. */
  take(extent: Extent, storage: DType, name: string): Block | Promise<Block>;
  /** Takes one that is at rest. */
  claim(block: Block): Block;
  /** One user less. */
  release(block: Block): void;
  dispose(): void;
}

export class Home {
  readonly backend: Device;
  /** Where tensors stay on the device (tensors/). */
  pool: BlockPool | undefined;
  /** The reason, when it was disposed. */
  over: GossamerError | undefined;
  #side: Promise<Device> | undefined;
  readonly #threads: number | undefined;

  /** `threads`: of the side. */
  constructor(backend: Device, threads: number | undefined) {
    this.backend = backend;
    this.#threads = threads;
  }

  /** The device for what a GPU cannot compute. */
  side(): Promise<Device> {
    this.#side ??= openBackend('wasm', this.#threads);
    return this.#side;
  }

  /** Throws 'disposed' or 'lost'. */
  check(): void {
    if (this.over) throw this.over;
    this.backend.life.check();
  }

  /** Frees its memory and stops its threads. */
  dispose(reason?: GossamerError): void {
    this.over ??= reason;
    this.pool?.dispose();
    this.backend.dispose();
    void this.#side?.then((side) => side.dispose(), () => undefined);
  }
}
