/** What compile() is given, as bytes; what cannot be a model or its weights is an error that says what to pass. */
import {CompileError, type NamedFile, normalPath} from './call.ts';

/** A model's bytes. */
export type Model = ArrayBuffer | Uint8Array | Blob;

/**
 * Files by their names, as the model names them ("location" of its tensors, a path from the model's folder; './w.bin' and 'w.bin'
 * are one). They stay the caller's; of a Blob there is no copy but the compiler's.
 */
export type ExternalData =
  | ReadonlyMap<string, Uint8Array | Blob>
  | Readonly<Record<string, Uint8Array | Blob>>
  | readonly {readonly name: string; readonly bytes: Uint8Array | Blob}[];

const classOf = (value: unknown): string =>
  value === null || value === undefined ? String(value) : typeof value === 'object' ? `of class ${Object.prototype.toString.call(value).slice(8, -1)}` : `a ${typeof value}`;

const isBuffer = (given: unknown): given is ArrayBuffer => {
  const tag = Object.prototype.toString.call(given);
  return tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]';
};

const isBlob = (given: unknown): given is Blob => typeof Blob !== 'undefined' && given instanceof Blob;

const wrong = (where: string, message: string, hint: string): CompileError => new CompileError({where, message, hint});

function refused(where: string, given: unknown): CompileError {
  if (typeof given === 'string' || given instanceof URL) {
    const address = JSON.stringify(String(given));
    return wrong(where, `${address} is an address or path, not bytes`, `pass await (await fetch(${address})).arrayBuffer(), or await readFile(${address}) in Node.js`);
  }
  const hint = given instanceof Promise ? 'await it' : typeof Response !== 'undefined' && given instanceof Response ? 'pass await response.arrayBuffer()' : 'pass an ArrayBuffer, a Uint8Array or a Blob';
  return wrong(where, `it is ${classOf(given)}, not bytes`, hint);
}

/** Throws a CompileError. */
export async function modelBytes(given: Model): Promise<Uint8Array> {
  if (isBlob(given)) return new Uint8Array(await given.arrayBuffer());
  if (ArrayBuffer.isView(given)) return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  if (isBuffer(given)) return new Uint8Array(given);
  throw refused('the model', given);
}

function entriesOf(given: ExternalData): NamedFile[] {
  if (given instanceof Map) return [...(given as ReadonlyMap<string, Uint8Array | Blob>)];
  if (Array.isArray(given)) {
    return (given as readonly Partial<{name: string; bytes: Uint8Array | Blob}>[]).map((file, at) => {
      if (typeof file?.name === 'string') return [file.name, file.bytes as Uint8Array];
      throw wrong('externalData', `element ${at} has no name`, 'pass {name, bytes}, with the name by which the model knows the file');
    });
  }
  if (typeof given === 'object' && !isBlob(given) && !isBuffer(given) && !ArrayBuffer.isView(given)) return Object.entries(given as Readonly<Record<string, Uint8Array | Blob>>);
  throw wrong('externalData', `it is ${classOf(given)}, without the names of files`, "pass {'model.onnx_data': bytes}");
}

/** Throws a CompileError. */
export const namedFiles = (given: ExternalData): NamedFile[] =>
  entriesOf(given).map(([path, file]) => {
    const name = normalPath(path);
    if (isBlob(file)) return [name, file];
    if (ArrayBuffer.isView(file)) return [name, new Uint8Array(file.buffer, file.byteOffset, file.byteLength)];
    if (isBuffer(file)) return [name, new Uint8Array(file)];
    throw refused(`externalData ${JSON.stringify(name)}`, file);
  });

/** Throws a CompileError for options without a target. */
export function checkOptions(options: {readonly target?: unknown} | undefined): void {
  const target = (options as {target?: unknown} | undefined | null)?.target;
  if (target === 'webgpu' || target === 'webgl' || target === 'wasm') return;
  const has = target === undefined ? 'there is none' : `${JSON.stringify(target)} is not one of the targets in pages`;
  throw wrong('target', has, "pass {target: 'webgpu'}, 'webgl' or 'wasm'");
}
