/** The compilers of sessions, each with a worker where there are workers. One that is done waits for the next model. */
import type {Compiler} from '../../compiler/src/index.ts';
import {env} from './env.ts';

/** Milliseconds: programs create one session after the other. */
const WAIT = 3000;

interface Opened {
  readonly address: string;
  readonly compiler: Promise<Compiler>;
  closing?: ReturnType<typeof setTimeout>;
}

const waiting: Opened[] = [];

function compilerAddress(): string | URL | undefined {
  const {wasmPaths} = env.wasm;
  // Other names are those of onnxruntime's own files.
  if (typeof wasmPaths === 'object') return /compiler[^/]*\.wasm/.test(String(wasmPaths.wasm)) ? wasmPaths.wasm : undefined;
  return undefined;
}

function open(): Opened {
  const wasm = compilerAddress();
  return {address: String(wasm), compiler: import('../../compiler/src/index.ts').then(({Compiler}) => Compiler.open({wasm}))};
}

/** It waits, and goes unless it is taken. */
function leave(opened: Opened): void {
  waiting.push(opened);
  const close = (): void => {
    const at = waiting.indexOf(opened);
    if (at >= 0) waiting.splice(at, 1);
    opened.compiler.then((compiler) => compiler.dispose(), () => undefined);
  };
  const begin = (): void => {
    if (!waiting.includes(opened)) return;
    opened.closing = setTimeout(close, WAIT);
    (opened.closing as {unref?: () => void}).unref?.(); // Node.js does not wait for it
  };
  opened.compiler.then(begin, close);
}

/** Fetches the compiler and starts its worker, for a model that is not there yet. */
export function prepareCompiler(): void {
  if (waiting.length === 0) leave(open());
}

/** Rejects as `work` does, and where there is no compiler. */
export async function withCompiler<T>(work: (compiler: Compiler) => Promise<T>): Promise<T> {
  const address = String(compilerAddress());
  const at = waiting.findIndex((each) => each.address === address);
  const [opened = open()] = at < 0 ? [] : waiting.splice(at, 1);
  clearTimeout(opened.closing);
  const compiler = await opened.compiler;
  try {
    return await work(compiler);
  } finally {
    leave(opened);
  }
}
