/**
 * The little of WASI preview 1 that the compiler's C library reaches: text to the console, a clock, an
 * empty environment. Files do not exist; everything else answers "not supported".
 */

const SUCCESS = 0;
const BAD_FILE = 8;
const NOT_SUPPORTED = 52;

/** Thrown when the program ends itself. */
export class Exit extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}

export interface Wasi {
  readonly imports: WebAssembly.ModuleImports;
  /** Gives the memory, which exists only after instantiation. */
  attach(memory: WebAssembly.Memory): void;
  /** What was written to standard error so far. */
  errorText(): string;
}

export function makeWasi(module: WebAssembly.Module): Wasi {
  let memory: WebAssembly.Memory | undefined;
  let written = '';
  const text = new TextDecoder();
  const view = (): DataView => new DataView((memory as WebAssembly.Memory).buffer);

  const known: Record<string, (...args: number[]) => number> = {
    fd_write(file = 0, list = 0, count = 0, result = 0) {
      if (file !== 1 && file !== 2) return BAD_FILE;
      let total = 0;
      for (let at = 0; at < count; ++at) {
        const address = view().getUint32(list + 8 * at, true);
        const size = view().getUint32(list + 8 * at + 4, true);
        written += text.decode(new Uint8Array(view().buffer, address, size), {stream: true});
        total += size;
      }
      view().setUint32(result, total, true);
      return SUCCESS;
    },
    fd_fdstat_get: (file = 0) => (file <= 2 ? SUCCESS : BAD_FILE),
    fd_close: () => SUCCESS,
    fd_prestat_get: () => BAD_FILE,
    environ_sizes_get(count = 0, size = 0) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return SUCCESS;
    },
    environ_get: () => SUCCESS,
    proc_exit(status = 0) {
      throw new Exit(status);
    },
  };
  const imports: Record<string, (...args: never[]) => number> = {
    clock_time_get(_clock: number, _precision: bigint, result: number) {
      view().setBigUint64(result, BigInt(Math.round(performance.now() * 1e6)), true);
      return SUCCESS;
    },
  };
  for (const {module: from, name, kind} of WebAssembly.Module.imports(module)) {
    if (from === 'wasi_snapshot_preview1' && kind === 'function') {
      imports[name] ??= known[name] ?? (() => NOT_SUPPORTED);
    }
  }
  return {
    imports,
    attach: (given) => (memory = given),
    errorText: () => written.trim(),
  };
}
