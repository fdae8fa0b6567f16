/** Models as packages: compiled in the page, kept by the hash of all that decides them. */
import type {DeviceKind} from '../../runtime/src/index.ts';
import type {CompileOptions} from '../../compiler/src/index.ts';
import {addressOf, hashOf, openCache} from '../../compiler/src/kept.ts';
import {env} from './env.ts';

/** Of compiler.wasm, by the build. */
declare const COMPILER: string | undefined;

const compilerHash = typeof COMPILER === 'undefined' ? '' : COMPILER;

export type Files = Map<string, Uint8Array>;

/** What a compilation is told of the feeds: shapes, null where an extent stays open, values of inputs, which become constants, and inputs with a default that stay inputs. */
export type Known = Pick<CompileOptions, 'keepInputs' | 'shapes' | 'values'>;

export interface Wanted {
  readonly model: Uint8Array;
  readonly external: ReadonlyMap<string, Uint8Array>;
  readonly target: DeviceKind;
  readonly dims: Readonly<Record<string, number>>;
  readonly known: Known;
}

const CACHE = 'gossamer-compiled';
/** The oldest make room for more. */
const MOST = 32;

const encoder = new TextEncoder();

/** The same for the same. */
export const textOf = (known: Known): string => JSON.stringify(known, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

/** SHA-256 over the SHA-256 of the parts. Where there is no crypto.subtle (pages that are not secure) there is no key, nor a cache. */
async function keyOf({model, external, target, dims, known}: Wanted): Promise<string | undefined> {
  const hash = await hashOf(model);
  if (hash === undefined) return undefined;
  const files = [...external].sort(([a], [b]) => (a < b ? -1 : 1)).map(async ([name, bytes]) => [name, await hashOf(bytes)]);
  const named = Object.entries(dims).sort(([a], [b]) => (a < b ? -1 : 1));
  const told = textOf(known);
  return hashOf(encoder.encode(JSON.stringify([compilerHash, target, named, hash, await Promise.all(files), told])));
}

/** Undefined where nothing is to be kept, or can be. */
const openCompiled = async (): Promise<Cache | undefined> => (env.gossamer.cache ? openCache(CACHE) : undefined);

/** [length of the list, list of names and sizes, files]. */
function packed(files: Files): Blob {
  const list = encoder.encode(JSON.stringify([...files].map(([name, bytes]) => [name, bytes.length])));
  return new Blob([Uint32Array.of(list.length), list, ...files.values()] as BlobPart[]);
}

function unpacked(buffer: ArrayBuffer): Files {
  const length = new Uint32Array(buffer, 0, 1)[0] as number;
  const list = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as [string, number][];
  let at = 4 + length;
  return new Map(list.map(([name, size]) => [name, new Uint8Array(buffer, (at += size) - size, size)]));
}

async function kept(cache: Cache, key: string): Promise<Files | undefined> {
  try {
    const found = await cache.match(addressOf(key));
    return found && unpacked(await found.arrayBuffer());
  } catch {
    return undefined; // what is broken there is made again
  }
}

async function keep(cache: Cache, key: string, files: Files): Promise<void> {
  try {
    await cache.put(addressOf(key), new Response(packed(files)));
    const all = await cache.keys();
    await Promise.all(all.slice(0, Math.max(0, all.length - MOST)).map((request) => cache.delete(request)));
  } catch {
    // No room for it: it is compiled each time.
  }
}

function compilerAddress(): string | URL | undefined {
  const {wasmPaths} = env.wasm;
  // Other names are those of onnxruntime's own files.
  if (typeof wasmPaths === 'object') return /compiler[^/]*\.wasm/.test(String(wasmPaths.wasm)) ? wasmPaths.wasm : undefined;
  return undefined;
}

async function compile({model, external, target, dims, known: {keepInputs, shapes, values}}: Wanted): Promise<Files> {
  const compiler = await import('../../compiler/src/index.ts');
  const known = {...dims};
  for (;;) {
    try {
      return await compiler.compile(model, {target, dims: known, keepInputs, shapes, values, externalData: external, wasm: compilerAddress()});
    } catch (problem) {
      if (!(problem instanceof compiler.CompileError)) throw problem;
      // Overrides for dimensions that a model does not have are passed over, as onnxruntime does.
      const {where, message} = problem.diagnostic;
      if (!message.startsWith('names no dimension') || !Object.hasOwn(known, where.replaceAll('"', ''))) {
        throw new Error(`InferenceSession.create: the model cannot be compiled: ${problem.message}`, {cause: problem});
      }
      Reflect.deleteProperty(known, where.replaceAll('"', ''));
    }
  }
}

/** What two sessions ask for at the same time is made once. */
const underWay = new Map<string, Promise<Files>>();

async function compiledOrKept(wanted: Wanted, key: string): Promise<Files> {
  const cache = await openCompiled();
  const found = cache && (await kept(cache, key));
  if (found) return found;
  const files = await compile(wanted);
  if (cache) await keep(cache, key, files);
  return files;
}

/** The package of a model. Rejects with an Error that says what is wrong with it, and where. */
export async function packageOf(wanted: Wanted): Promise<Files> {
  const key = await keyOf(wanted);
  if (key === undefined) return compile(wanted);
  const made = underWay.get(key) ?? compiledOrKept(wanted, key).finally(() => underWay.delete(key));
  underWay.set(key, made);
  return made;
}

/** It did not load: made again the next time. */
export async function forget(wanted: Wanted): Promise<void> {
  const key = await keyOf(wanted);
  if (key !== undefined) await (await openCompiled())?.delete(addressOf(key));
}
