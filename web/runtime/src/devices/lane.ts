import type {Fence, Queue, Read, Recording} from './device.ts';

/** Launches of steps that are submitted together, and submissions that may be under way before a run waits. */
const TOGETHER = 64;
const AHEAD = 8;

/** A device's part of the run that is being put in: recordings that wait, and what was submitted. */
export class Lane {
  readonly #queue: Queue;
  #waiting: Recording[] = [];
  #launches = 0;
  #fences: Fence[] = [];
  constructor(queue: Queue) {
    this.#queue = queue;
  }

  async add(recording: Recording, launches: number): Promise<void> {
    this.#waiting.push(recording);
    this.#launches += launches;
    if (this.#launches < TOGETHER) return;
    void this.submit();
    if (this.#fences.length > AHEAD) await this.settle();
  }

  /** Everything that waits, then the reads: before what waits is changed, and at the end. */
  submit(reads: readonly Read[] = []): Promise<Uint8Array[]> {
    const waiting = this.#waiting.splice(0);
    this.#launches = 0;
    if (waiting.length + reads.length === 0) return Promise.resolve([]);
    const fence = this.#queue.submit(waiting, reads);
    this.#fences.push(fence);
    fence.data.catch(() => undefined);
    return fence.data;
  }

  /** What was submitted since it was last asked for. */
  take(): Fence[] {
    return this.#fences.splice(0);
  }

  async settle(): Promise<void> {
    void this.submit();
    await Promise.all(this.take().map(({done}) => done));
  }

  /** Drops the work that a failed run has left. */
  clear(): void {
    this.#waiting = [];
    this.#fences = [];
  }
}
