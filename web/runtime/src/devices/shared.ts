/** What models have in common, by a text: made for the first that asks, dropped with the last. */
export class Shared<T> {
  readonly #known = new Map<string, {readonly made: Promise<T>; users: number}>();
  readonly #drop: (each: T) => void;

  constructor(drop: (each: T) => void) {
    this.#drop = drop;
  }

  /** One for each of `all`, and what lets go of them; nothing is kept when one is not to be had. */
  async use<U>(
    all: readonly U[],
    keyOf: (one: U) => string,
    make: (one: U) => Promise<T>,
    progress: (done: number) => void,
  ): Promise<readonly [T[], release: () => void]> {
    let done = 0;
    const keys = all.map(keyOf);
    const release = (): void => keys.splice(0).forEach((key) => this.#release(key));
    const uses = keys.map(async (key, at) => {
      let entry = this.#known.get(key);
      if (!entry) this.#known.set(key, (entry = {made: make(all[at] as U), users: 0}));
      ++entry.users;
      const made = await entry.made;
      progress(++done);
      return made;
    });
    try {
      return [await Promise.all(uses), release];
    } catch (problem) {
      release();
      throw problem;
    }
  }

  #release(key: string): void {
    const entry = this.#known.get(key);
    if (!entry || --entry.users > 0) return;
    this.#known.delete(key);
    entry.made.then(this.#drop, () => undefined);
  }
}
