/** Compiles for every target and describes the result, off the page's own thread: one model, then it ends. */
import {CompileError, type Diagnostic} from '../../compiler/src/call.ts';
import type {CompileOptions} from '../../compiler/src/compile_options.ts';
import {inspectIn} from '../../compiler/src/inspect_in.ts';

export interface Asked {
  readonly module: WebAssembly.Module;
  readonly model: Uint8Array<ArrayBuffer>;
  readonly files: ReadonlyMap<string, Blob>;
  readonly options: Pick<CompileOptions, 'shapes' | 'dims' | 'lengths'>;
  readonly targets: readonly ('webgpu' | 'webgl' | 'wasm')[];
}

export type Said =
  | {readonly kind: 'ready'}
  | {readonly kind: 'progress'; readonly step: string; readonly fraction: number}
  | {readonly kind: 'done'; readonly text: string}
  | {readonly kind: 'failed'; readonly problem: Diagnostic | string};

const say = (message: Said): void => (self as unknown as Worker).postMessage(message);

async function work({module, model, files, options, targets}: Asked): Promise<void> {
  let at = 0;
  let before = 0;
  const onProgress = (step: string, fraction: number): void => {
    if (fraction < before) at += 1;
    before = fraction;
    say({kind: 'progress', step, fraction: (Math.min(at, targets.length - 1) + fraction) / targets.length});
  };
  try {
    const made = await inspectIn(module, model, options, files, {targets, document: true, space: true, points: 16}, onProgress);
    say({kind: 'done', text: new TextDecoder().decode(made.get('text'))});
  } catch (problem) {
    say({kind: 'failed', problem: problem instanceof CompileError ? problem.diagnostic : String(problem)});
  }
}

self.onmessage = ({data}: MessageEvent<Asked>) => void work(data);
say({kind: 'ready'});
