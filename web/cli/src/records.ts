/** Points of search spaces that kernels take: those of a file, then those that come with the compiler for a class of devices. */
import {readFile} from 'node:fs/promises';
import type {Command} from 'commander';
import {Option} from 'commander';
import type {Target} from './compile_options.ts';
import {fileOf} from './model_file.ts';

/** As src/shipped/shipped.cc knows them. */
const CLASSES = ['avx2', 'avx512', 'llvmpipe', 'none', 'nvidia', 'pocl', 'swiftshader', 'v8', 'wasmtime'];
/** Of which the package has files, by their target. */
const FILES: Readonly<Record<string, Target>> = {nvidia: 'webgpu', swiftshader: 'webgpu', wasmtime: 'wasm'};
/** Classes of software that acts as a GPU: one takes the place of another. */
const SOFTWARE = ['swiftshader', 'llvmpipe', 'pocl'];

export interface RecordOptions {
  readonly records?: string;
  readonly deviceClass?: string;
}

export function addRecordOptions(command: Command, what: string): void {
  command
    .option('--records <file>', what)
    .addOption(new Option('--device-class <name>', 'whose records kernels take where the compiler comes with some; none: no records').choices(CLASSES));
}

/** Lines for a target, as `gossamer compile` takes them for packages of pages; the last of a key counts. Undefined: there are none. */
export async function recordsFor(target: Target, {records, deviceClass}: RecordOptions): Promise<string | undefined> {
  const names = deviceClass === 'none' ? [] : [...(deviceClass ? [deviceClass] : []), ...(target === 'webgpu' && !SOFTWARE.includes(deviceClass ?? '') ? ['swiftshader'] : [])];
  const shipped = names.filter((name) => FILES[name] === target).reverse().map((name) => readFile(fileOf(`@gossamer/compiler/records/${name}.jsonl`), 'utf8'));
  const texts = [...(await Promise.all(shipped)), ...(records === undefined ? [] : [await readFile(records, 'utf8')])];
  return texts.length > 0 ? texts.join('\n') : undefined;
}
