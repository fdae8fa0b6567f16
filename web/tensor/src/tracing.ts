/**
 * Whether operations are traced for gradients: as the innermost noGrad() or enableGrad() around them says. An async function goes on
 * after an await wherever events have it, so the mode follows it: by AsyncContext, or AsyncLocalStorage of Node.js. A page without
 * either carries it over awaits of tensors' elements alone; after other awaits such a function is traced again.
 */
interface Context {
  get(): boolean | undefined;
  run<T>(on: boolean, make: () => T): T;
}

interface Storage {
  getStore(): boolean | undefined;
  run<T>(on: boolean, make: () => T): T;
}

/** What the function that runs now was given to; undefined: it is not within one. */
let said: boolean | undefined;
/** Of an async function that goes on after an await, where the platform does not tell. */
let carried: boolean | undefined;
/** How many async functions are under way. */
let open = 0;
let context: Context | null | undefined;
/** Told what noGrad() gives. */
let results: (made: unknown) => void = () => undefined;
export function onResults(tell: typeof results): void {
  results = tell;
}

function contextOf(): Context | null {
  const {AsyncContext, process} = globalThis as {
    AsyncContext?: {Variable: new () => Context};
    process?: {getBuiltinModule?: (name: string) => {AsyncLocalStorage: new () => Storage} | undefined};
  };
  if (AsyncContext) return new AsyncContext.Variable();
  const hooks = process?.getBuiltinModule?.('node:async_hooks');
  if (!hooks) return null;
  const storage = new hooks.AsyncLocalStorage();
  return {get: () => storage.getStore(), run: (on, make) => storage.run(on, make)};
}

const mode = (): boolean | undefined => said ?? (open > 0 ? (context ? context.get() : carried) : undefined);

export const tracing = (): boolean => mode() ?? true;

/** What `make` gives, traced or not. It is not async. */
export function traced<T>(on: boolean, make: () => T): T {
  const before = said;
  said = on;
  try {
    return make();
  } finally {
    said = before;
  }
}

function within<T>(on: boolean, make: () => T): T {
  if (context === undefined) context = contextOf();
  const made = traced(on, () => (context ? context.run(on, make) : make()));
  if (!on) results(made);
  if (made instanceof Promise) {
    open += 1;
    const end = (): void => void (open -= 1);
    made.then(end, end);
  }
  return made;
}

/** What `make` gives, computed without a trace for gradients; of an async function its own calls, before and after awaits. */
export const noGrad = <T>(make: () => T): T => within(false, make);

/** What `make` gives, traced for gradients, also within noGrad(). */
export const enableGrad = <T>(make: () => T): T => within(true, make);

/** A promise of elements. Without a context of the platform, who awaits it goes on in the mode in which it was asked for. */
export function carry<T>(promise: Promise<T>): Promise<T> {
  const on = mode();
  if (on === undefined || context) return promise;
  // What awaits runs between two of these.
  const between = (go: () => void): void => {
    queueMicrotask(() => (carried = on));
    go();
    queueMicrotask(() => (carried = undefined));
  };
  const then = (good: (value: T) => void, bad: (problem: unknown) => void): void => {
    void Promise.prototype.then.call(promise, (value: T) => between(() => good(value)), (problem) => between(() => bad(problem)));
  };
  // Of another class than Promise, so that `await` calls then().
  return Object.defineProperties(promise, {then: {value: then}, constructor: {value: Object}});
}
