/** Whether something is still there, for those who wait on it. */
import {GossamerError} from '../values/types.ts';

/** So long an error of a device is doubted: it may be the first sign of a loss, which Firefox tells at the next of its turns of 100 ms. */
const DOUBT_MS = 400;
const DOUBTED = ['kernel', 'unsupported', 'out-of-memory', 'lost'];

export class Lifetime {
  #over: GossamerError | undefined;
  readonly #watchers = new Set<(over: GossamerError) => void>();

  end(reason: GossamerError): void {
    if (this.#over) return;
    this.#over = reason;
    this.#watchers.forEach((tell) => tell(reason));
    this.#watchers.clear();
  }

  /** Throws the reason when it is over. */
  check(): void {
    if (this.#over) throw this.#over;
  }

  /** Calls `tell` when it is over, or soon if it is; the result stops that. */
  watch(tell: (over: GossamerError) => void): () => void {
    const over = this.#over;
    if (over) queueMicrotask(() => tell(over));
    else this.#watchers.add(tell);
    return () => void this.#watchers.delete(tell);
  }

  /** The same promise, but rejected when it is over: browsers let some wait for ever. */
  guard<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const done = this.watch(reject);
      promise.then(resolve, reject).finally(done);
    });
  }

  /** Rejects with `problem`, or with the loss that it came before. */
  async verdict(problem: unknown): Promise<never> {
    const sure = problem instanceof GossamerError && !DOUBTED.includes(problem.code);
    if (sure) throw problem;
    return this.guard(
      new Promise<never>((_, reject) => {
        setTimeout(() => reject(problem as Error), DOUBT_MS);
      }),
    );
  }
}
