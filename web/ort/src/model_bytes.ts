/** The forms in which sessions are given models, as bytes. */
import type * as FileSystem from 'node:fs/promises';
import {builtin} from './builtin.ts';
import type {ExternalDataFileType} from './session_options.ts';

/** Where there is a file system; fetch has no paths there. */
const files = (): typeof FileSystem | undefined => builtin('node:fs/promises');

/** Throws what the server answered, or why there was no answer. */
export async function fetchBytes(address: string | URL, what: string): Promise<Uint8Array> {
  const text = String(address);
  const local = /^(https?|blob|data):/.test(text) ? undefined : files();
  try {
    if (local) return new Uint8Array(await local.readFile(text.startsWith('file:') ? new URL(text) : text));
    const response = await fetch(text);
    if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}`.trim());
    return new Uint8Array(await response.arrayBuffer());
  } catch (problem) {
    throw new Error(`InferenceSession.create: ${what} could not be had from ${text}: ${(problem as Error).message}`, {cause: problem});
  }
}

const isShared = (given: unknown): boolean => typeof SharedArrayBuffer !== 'undefined' && given instanceof SharedArrayBuffer;

/** A model's bytes; the rest of the arguments behind them. Throws a TypeError for what is none. */
export async function modelBytes(given: readonly unknown[]): Promise<{bytes: Uint8Array; rest: readonly unknown[]}> {
  const [first, second, third] = given;
  if (typeof first === 'string' || first instanceof URL) return {bytes: await fetchBytes(first, 'the model'), rest: given.slice(1)};
  if (first instanceof Blob) return {bytes: new Uint8Array(await first.arrayBuffer()), rest: given.slice(1)};
  if (ArrayBuffer.isView(first)) return {bytes: new Uint8Array(first.buffer, first.byteOffset, first.byteLength), rest: given.slice(1)};
  if (!(first instanceof ArrayBuffer) && !isShared(first)) {
    throw new TypeError('InferenceSession.create: give the address of a model, or its bytes as an ArrayBuffer or Uint8Array');
  }
  const buffer = first as ArrayBuffer;
  if (typeof second !== 'number') return {bytes: new Uint8Array(buffer), rest: given.slice(1)};
  const length = typeof third === 'number' ? third : buffer.byteLength - second;
  if (!Number.isSafeInteger(second) || second < 0 || !Number.isSafeInteger(length) || length <= 0 || second + length > buffer.byteLength) {
    throw new RangeError(`InferenceSession.create: ${length} bytes from ${second} on are no part of a buffer of ${buffer.byteLength}`);
  }
  return {bytes: new Uint8Array(buffer, second, length), rest: given.slice(typeof third === 'number' ? 3 : 2)};
}

/** Where there is a file system, files of weights next to a model that was given by its path; those that `given` lacks. */
export async function filesNextTo(model: unknown, names: readonly string[], given: ReadonlyMap<string, Uint8Array>): Promise<ReadonlyMap<string, Uint8Array>> {
  const path = typeof model === 'string' || model instanceof URL ? String(model) : undefined;
  if (path === undefined || /^(https?|blob|data):/.test(path) || !files()) return given;
  const found = new Map(given);
  const isGiven = (name: string): boolean => [...given.keys()].some((each) => each.replace(/^\.\//, '') === name.replace(/^\.\//, ''));
  for (const name of names) {
    // As ONNX has it, a path below the model's folder.
    if (isGiven(name) || /^([/\\]|\w:)|(^|[/\\])\.\.([/\\]|$)/.test(name)) continue;
    const folder = path.replace(/[^/\\]*$/, '');
    found.set(name, await fetchBytes(folder + (path.startsWith('file:') ? encodeURI(name) : name), `the external data "${name}"`));
  }
  return found;
}

/** Files of weights by their names. A text alone is both a name and an address. */
export async function externalFiles(given: unknown): Promise<ReadonlyMap<string, Uint8Array>> {
  if (given === undefined || given === null || typeof given === 'boolean' || typeof given === 'number') return new Map();
  if (!Array.isArray(given)) throw new TypeError('externalData is a list of {path, data}');
  const entries = (given as ExternalDataFileType[]).map(async (file): Promise<[string, Uint8Array]> => {
    const {path, data} = typeof file === 'string' ? {path: file, data: file} : file;
    if (typeof path !== 'string') throw new TypeError('a file of externalData has a path: the name by which the model knows it');
    if (typeof data === 'string' || data instanceof URL) return [path, await fetchBytes(data, `the external data "${path}"`)];
    if (data instanceof Blob) return [path, new Uint8Array(await data.arrayBuffer())];
    if (ArrayBuffer.isView(data)) return [path, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
    return [path, new Uint8Array(data)];
  });
  return new Map(await Promise.all(entries));
}
