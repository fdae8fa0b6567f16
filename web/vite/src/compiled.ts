/** Packages of a model for several targets, kept until the model, its options or the compiler change. */
import {createHash} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {basename, dirname, isAbsolute, join, normalize} from 'node:path';
import {fileURLToPath} from 'node:url';
import {compile, type CompileOptions} from '@gossamer/compiler';
import {namedFiles} from '../../compiler/src/given.ts';
import {openFolder} from '../../ort/src/folder.ts';
import {weightFiles} from '../../ort/src/signature.ts';

export type Target = CompileOptions['target'];
export type CompileSettings = Omit<CompileOptions, 'target' | 'signal' | 'onProgress' | 'onKernel' | 'verifiable' | 'tunable' | 'wasm'>;

export interface Compiled {
  /** The name of the package's folder: the model's, and a hash of everything that the files depend on. */
  readonly name: string;
  /** By their names below the folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The manifest for the first target. */
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

/** Files of weights below the model's folder. The compiler reports other ones. */
async function filesNextTo(file: string, model: Uint8Array): Promise<Map<string, Uint8Array>> {
  const names = weightFiles(model).filter((name) => !isAbsolute(name) && !normalize(name).startsWith('..'));
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(dirname(file), name))] as const)));
}

async function compilerVersion(): Promise<string> {
  const wasm = fileURLToPath(import.meta.resolve('@gossamer/compiler/compiler.wasm'));
  return createHash('sha256').update(await readFile(wasm)).digest('hex');
}
let version: Promise<string> | undefined;

const bytesOf = async (file: Uint8Array | Blob): Promise<Uint8Array> => (file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer()));

/** A hash of everything that the files depend on. */
async function hashOf(model: Uint8Array, externalData: ReadonlyMap<string, Uint8Array | Blob>, options: readonly unknown[]): Promise<string> {
  const hash = createHash('sha256').update(model).update(await (version ??= compilerVersion()));
  hash.update(JSON.stringify(options, (_, value: unknown) => (ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') : value)));
  for (const [name, bytes] of externalData) hash.update(name).update(await bytesOf(bytes));
  return hash.digest('hex').slice(0, 8);
}

/** Rejects with the compiler's error. `cache`: the folder of packages that are kept. */
export async function compiled(model: Uint8Array, file: string, targets: readonly Target[], settings: CompileSettings, cache: string): Promise<Compiled> {
  const {externalData: given, ...options} = settings;
  const externalData = given ? new Map(namedFiles(given)) : await filesNextTo(file, model);
  const name = `${basename(file, '.onnx')}-${await hashOf(model, externalData, [targets, options])}`;
  const kept = await openFolder(cache, 'cacheDir');
  let files = await kept?.get(name);
  if (!files) {
    files = new Map<string, Uint8Array>();
    for (const target of targets) {
      const made = await compile(model, {...options, deviceClass: options.deviceClass ?? 'none', target, externalData});
      for (const [part, bytes] of made) files.set(`${target}/${part}`, bytes);
    }
    files.set('index.json', Buffer.from(JSON.stringify({variants: Object.fromEntries(targets.map((target) => [target, `${target}/`]))})));
    await kept?.put(name, files);
  }
  const manifest = JSON.parse(Buffer.from(files.get(`${targets[0] ?? ''}/manifest.json`) ?? '{}').toString()) as Manifest;
  return {name, files, manifest};
}
