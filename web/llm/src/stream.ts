/** Answers that are read while they are made. */
import type {RequestOptions} from './api_types.ts';

/** Aborted with the caller's signal, or by the stream. */
export function controllerOf({signal}: RequestOptions): AbortController {
  const controller = new AbortController();
  if (signal?.aborted) controller.abort(signal.reason);
  signal?.addEventListener('abort', () => controller.abort(signal.reason), {once: true});
  return controller;
}

/** Items that are made while others are read. */
export class Stream<Item> implements AsyncIterable<Item> {
  /** Ends the generation. A loop that is left does so as well. */
  readonly controller: AbortController;
  readonly #items: Item[] = [];
  #end: {readonly problem?: unknown} | undefined;
  #wake: (() => void) | undefined;

  /** @internal `make` gives items until its promise resolves. */
  constructor(controller: AbortController, make: (give: (item: Item) => void) => Promise<void>) {
    this.controller = controller;
    const end = (how: {readonly problem?: unknown}): void => {
      this.#end = how;
      this.#wake?.();
    };
    make((item) => {
      this.#items.push(item);
      this.#wake?.();
    }).then(() => end({}), (problem: unknown) => end({problem}));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, void> {
    try {
      for (;;) {
        while (this.#items.length > 0) yield this.#items.shift() as Item;
        if (this.#end) break;
        await new Promise<void>((wake) => (this.#wake = wake));
      }
      if ('problem' in this.#end) throw this.#end.problem;
    } finally {
      this.controller.abort();
    }
  }
}
