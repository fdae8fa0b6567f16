/** Models as packages: compiled once, and kept by the hash of everything that the result depends on. */
import type {DeviceKind} from '../../runtime/src/index.ts';
import type {CompileOptions} from '../../compiler/src/index.ts';
import {hashOf} from '../../compiler/src/kept.ts';
import {prepareCompiler, withCompiler} from './compilers.ts';
import {env} from './env.ts';
import {type Files, openKept} from './kept_files.ts';
import {type Known, textOf} from './known.ts';

/** Of compiler.wasm, by the build. */
declare const COMPILER: string | undefined;

const compilerHash = typeof COMPILER === 'undefined' ? '' : COMPILER;

export interface Wanted {
  readonly model: Uint8Array;
  readonly external: ReadonlyMap<string, Uint8Array>;
  /** The hash of both; undefined where the platform has none. */
  readonly content: Promise<string | undefined>;
  readonly target: DeviceKind;
  /** The one kind of device that runs the kernels: those for others take as long to compile. */
  readonly adapters: CompileOptions['adapters'];
  readonly dims: Readonly<Record<string, number>>;
  /** Whether outputs that continue inputs by rows are written where the inputs are: caches of keys and values. */
  readonly state: boolean;
  readonly known: Known;
  readonly onKernel: CompileOptions['onKernel'];
}

const encoder = new TextEncoder();

/** Wanted.content. Where there is no crypto.subtle (pages that are not secure) there is no hash, nor a cache. */
export async function contentOf(model: Uint8Array, external: Wanted['external']): Promise<string | undefined> {
  const files = [...external].sort(([a], [b]) => (a < b ? -1 : 1)).map(async ([name, bytes]) => [name, await hashOf(bytes)]);
  const hash = await hashOf(model);
  return hash === undefined ? undefined : JSON.stringify([hash, await Promise.all(files)]);
}

/** A SHA-256; undefined where the content has no hash. */
async function keyOf({content, target, adapters, dims, state, known}: Wanted): Promise<string | undefined> {
  const parts = await content;
  const named = Object.entries(dims).sort(([a], [b]) => (a < b ? -1 : 1));
  return parts === undefined ? undefined : hashOf(encoder.encode(JSON.stringify([compilerHash, target, adapters, named, state, parts, textOf(known)])));
}

async function compile({model, external, target, adapters, dims, state, known: {constants, keepInputs, shapes}, onKernel}: Wanted): Promise<Files> {
  const {CompileError} = await import('../../compiler/src/index.ts');
  const known = {...dims};
  for (;;) {
    try {
      return await withCompiler((compiler) => compiler.compile(model, {target, adapters, dims: known, state, constants, keepInputs, shapes, externalData: external, onKernel}));
    } catch (problem) {
      if (!(problem instanceof CompileError)) throw problem;
      // Overrides for dimensions that a model does not have are passed over, as onnxruntime does.
      const {where, message} = problem.diagnostic;
      if (!message.startsWith('names no dimension') || !Object.hasOwn(known, where.replaceAll('"', ''))) {
        throw new Error(`InferenceSession.create: the model cannot be compiled: ${problem.message}`, {cause: problem});
      }
      Reflect.deleteProperty(known, where.replaceAll('"', ''));
    }
  }
}

/** Fetches the compiler while the model is read and a device opened, where no compiled model is kept. */
export async function prepare(): Promise<void> {
  try {
    if ((await (await openKept(env.gossamer.cache, 'env.gossamer.cache'))?.isEmpty()) ?? true) prepareCompiler();
  } catch {
    // packageOf() says what is wrong.
  }
}

/** What two sessions ask for at the same time is made once. */
const underWay = new Map<string, Promise<Files>>();

async function compiledOrKept(wanted: Wanted, key: string): Promise<Files> {
  const kept = await openKept(env.gossamer.cache, 'env.gossamer.cache');
  const found = await kept?.get(key);
  if (found) return found;
  const files = await compile(wanted);
  await kept?.put(key, files);
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
  if (key !== undefined) await (await openKept(env.gossamer.cache, 'env.gossamer.cache'))?.delete(key);
}
