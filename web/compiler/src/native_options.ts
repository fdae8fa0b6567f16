/** What compile() is told, as compiler.wasm reads it. */
import type {NativeOptions} from './call.ts';
import type {CompileOptions} from './compile_options.ts';

const bytesOf = (data: ArrayBufferView): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** What compile() uses itself, or writes otherwise for the compiler. */
const OWN: ReadonlySet<string> = new Set<keyof CompileOptions>([
  'shapes', 'constants', 'pieces', 'externalData', 'operators', 'verifiable', 'tunable', 'records', 'deviceClass', 'onKernel', 'onProgress', 'signal', 'wasm', 'ggufWasm',
]);
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Options by the compiler's names, which refuses those that it does not know. */
export function nativeOptions(options: Partial<CompileOptions>): NativeOptions {
  const {shapes, constants, onKernel, pieces = 'process' in globalThis} = options;
  const named = Object.entries(options).filter(([name, value]) => !OWN.has(name) && value !== undefined).map(([name, value]) => [snake(name), value as unknown]);
  return {
    ...(Object.fromEntries(named) as {target: string}),
    pieces,
    ...(onKernel && {on_kernel: true}),
    ...(shapes && {shapes: Object.fromEntries(Object.entries(shapes).map(([k, v]) => [k, v.map((n) => n ?? -1)]))}),
    ...(constants && {
      constants: Object.fromEntries(Object.entries(constants).map(([k, {dtype, shape, data}]) => [k, {dtype, shape, bytes: [...bytesOf(data)]}])),
    }),
  };
}
