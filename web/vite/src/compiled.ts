/** Packages of a model for several targets, kept until the model, its options or the compiler change. */
import {createHash} from 'node:crypto';
import {mkdir, readdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {compile, type CompileOptions} from '@gossamer/compiler';

export type Target = CompileOptions['target'];
export type CompileSettings = Omit<CompileOptions, 'target' | 'signal' | 'onProgress' | 'onKernel' | 'verifiable' | 'tunable' | 'wasm'>;

export interface Compiled {
  /** Of the folder: the model's, and a hash of all that decides its files. */
  readonly name: string;
  /** By their names below the folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** What the manifest of the first target says. */
  readonly manifest: Manifest;
}

export interface Port {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly unknown[];
}
export interface Manifest {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
}

/** Weights beside a model, as exporters name their file. */
async function externalData(file: string): Promise<Record<string, Uint8Array>> {
  const folder = dirname(file);
  const stem = basename(file, '.onnx');
  const names = (await readdir(folder)).filter((name) => [`${stem}.onnx.data`, `${stem}.onnx_data`, `${stem}.data`].includes(name) || name.startsWith(`${stem}.onnx_data_`));
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)));
}

async function read(folder: string): Promise<Map<string, Uint8Array> | undefined> {
  const entries = await readdir(folder, {recursive: true, withFileTypes: true}).catch(() => []);
  const names = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  if (names.length === 0) return undefined;
  return new Map(await Promise.all(names.map(async (name) => [name.slice(folder.length + 1).replaceAll('\\', '/'), await readFile(name)] as const)));
}

/** Whole, or not at all: another process may write the same. */
async function write(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const part = `${folder}.${process.pid}`;
  for (const [name, bytes] of files) {
    await mkdir(dirname(join(part, name)), {recursive: true});
    await writeFile(join(part, name), bytes);
  }
  await rename(part, folder).catch(() => rm(part, {recursive: true, force: true}));
}

async function compilerVersion(): Promise<string> {
  const wasm = fileURLToPath(import.meta.resolve('@gossamer/compiler/compiler.wasm'));
  return createHash('sha256').update(await readFile(wasm)).digest('hex');
}
let version: Promise<string> | undefined;

/** Rejects with the compiler's error. `cache`: the folder of those that are kept. */
export async function compiled(model: Uint8Array, file: string, targets: readonly Target[], settings: CompileSettings, cache: string): Promise<Compiled> {
  const beside = settings.externalData ?? (await externalData(file));
  const hash = createHash('sha256').update(model).update(await (version ??= compilerVersion()));
  hash.update(JSON.stringify([targets, settings], (_, value: unknown) => (ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') : value)));
  for (const [name, bytes] of Object.entries(beside)) hash.update(name).update(bytes as Uint8Array);
  const name = `${basename(file, '.onnx')}-${hash.digest('hex').slice(0, 8)}`;
  let files = await read(join(cache, name));
  if (!files) {
    files = new Map<string, Uint8Array>();
    const variants = Object.fromEntries(targets.map((target) => [target, `${target}/`]));
    for (const target of targets) {
      const made = await compile(model, {...settings, target, externalData: beside, deviceClass: settings.deviceClass ?? 'none'});
      for (const [part, bytes] of made) files.set(`${target}/${part}`, bytes);
    }
    files.set('index.json', Buffer.from(JSON.stringify({variants})));
    await write(join(cache, name), files);
  }
  const manifest = JSON.parse(Buffer.from(files.get(`${targets[0] ?? ''}/manifest.json`) ?? '{}').toString()) as Manifest;
  return {name, files, manifest};
}
