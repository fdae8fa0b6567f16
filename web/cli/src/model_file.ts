/** Models on the disk, of any format: as an ONNX model and the files that its weights are in. */
import {openAsBlob} from 'node:fs';
import {open, readFile, readdir, stat} from 'node:fs/promises';
import {basename, dirname, isAbsolute, join, normalize} from 'node:path';
import {fileURLToPath} from 'node:url';
import {translate} from '../../compiler/src/gguf.ts';
import {type StoredType, translateSafetensors} from '../../compiler/src/safetensors.ts';
import {weightFiles} from '../../ort/src/signature.ts';
import {diagnosticOf, Failure} from './failure.ts';

export interface ModelFile {
  readonly model: Uint8Array;
  /** By the names that the model has for them. */
  readonly externalData: ReadonlyMap<string, Blob>;
}

export const DTYPES: readonly StoredType[] = ['q4', 'q8', 'fp16', 'fp32'];

/** The file of a package of ours that is installed next to this one. */
export const fileOf = (name: string): string => fileURLToPath(import.meta.resolve(name));

const exists = (path: string): Promise<boolean> => stat(path).then(() => true, () => false);
const blobOf = (path: string): Promise<Blob> => openAsBlob(path);

/** Whether a folder has config.json and safetensors files, and is not a compiled package. */
export async function isModelFolder(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => [] as string[]);
  return names.includes('config.json') && names.some((name) => name.endsWith('.safetensors')) && !names.includes('manifest.json') && !names.includes('index.json');
}

/** Another folder, which is taken for a compiled package. */
export const isCompiled = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isDirectory() === true && !(await isModelFolder(path));

async function openGguf(path: string): Promise<ModelFile> {
  const folder = dirname(path);
  const files = new Map([[basename(path), await blobOf(path)]]);
  const other = async (name: string): Promise<{size: number; read: (length: number) => Promise<Uint8Array>} | undefined> => {
    if (!(await exists(join(folder, name)))) return undefined;
    const blob = await blobOf(join(folder, name));
    files.set(name, blob);
    return {size: blob.size, read: async (length) => new Uint8Array(await blob.slice(0, length).arrayBuffer())};
  };
  const made = await translate(files.get(basename(path)) as Blob, basename(path), {wasm: new URL(import.meta.resolve('@gossamer/compiler/gguf.wasm')), other});
  return {model: made.get('model.onnx') as Uint8Array, externalData: files};
}

async function openSafetensors(path: string, dtype: StoredType | undefined): Promise<ModelFile> {
  const text = (name: string): Promise<string | undefined> => readFile(join(path, name), 'utf8').catch(() => undefined);
  const part = async (name: string, offset: number, length: number): Promise<{bytes: Uint8Array; size: number} | undefined> => {
    const file = await open(join(path, name)).catch(() => undefined);
    if (!file) return undefined;
    try {
      const bytes = new Uint8Array(length);
      const {bytesRead} = await file.read(bytes, 0, length, offset);
      return {bytes: bytes.subarray(0, bytesRead), size: (await file.stat()).size};
    } finally {
      await file.close();
    }
  };
  const {model, made, used} = await translateSafetensors({text, part}, {dtype, wasm: new URL(import.meta.resolve('@gossamer/compiler/gguf.wasm'))});
  const whole = await Promise.all(used.map(async (name) => [name, await blobOf(join(path, name))] as const));
  return {model, externalData: new Map([...whole, ...made])};
}

async function openOnnx(path: string): Promise<ModelFile> {
  const model = await readFile(path);
  // Files outside of the model's folder are not read; the compiler reports them.
  const names = weightFilesOf(model).filter((name) => !isAbsolute(name) && !normalize(name).startsWith('..'));
  const there = await Promise.all(names.map(async (name) => [name, await exists(join(dirname(path), name))] as const));
  const files = there.filter(([, is]) => is).map(async ([name]) => [name, await blobOf(join(dirname(path), name))] as const);
  return {model, externalData: new Map(await Promise.all(files))};
}

/** A file that is not a model is the compiler's to report. */
function weightFilesOf(model: Uint8Array): string[] {
  try {
    return weightFiles(model);
  } catch {
    return [];
  }
}

async function isGgufFile(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const {buffer, bytesRead} = await file.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.toString('latin1') === 'GGUF';
  } finally {
    await file.close();
  }
}

/** Throws errors that name the file. */
export async function openModel(path: string, dtype?: StoredType): Promise<ModelFile> {
  try {
    if (await isModelFolder(path)) return await openSafetensors(path, dtype);
    if ((await stat(path)).isDirectory()) throw new Failure(path, 'is a folder without config.json and safetensors files', 'give an ONNX file or a GGUF file');
    if (dtype !== undefined) throw new Failure(path, '--dtype is for folders with safetensors files');
    return await ((await isGgufFile(path)) ? openGguf(path) : openOnnx(path));
  } catch (problem) {
    const {where, message, hint} = diagnosticOf(problem, path);
    throw new Failure(where, message, hint);
  }
}
