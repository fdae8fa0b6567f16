/** Models as packages: compiled once, and kept by the hash of everything that the result depends on. */
import type {DeviceKind} from '../../runtime/src/index.ts';
import type {CompileOptions} from '../../compiler/src/index.ts';
import {hashOf} from '../../compiler/src/kept.ts';
import {env} from './env.ts';
import {type Files, openKept} from './kept_files.ts';

/** Of compiler.wasm, by the build. */
declare const COMPILER: string | undefined;

const compilerHash = typeof COMPILER === 'undefined' ? '' : COMPILER;

/** What a compilation is told of the feeds: shapes, null where an extent stays open, values of inputs, which become constants, and inputs with a default that stay inputs. */
export type Known = Pick<CompileOptions, 'constants' | 'keepInputs' | 'shapes'>;

export interface Wanted {
  readonly model: Uint8Array;
  readonly external: ReadonlyMap<string, Uint8Array>;
  readonly target: DeviceKind;
  readonly dims: Readonly<Record<string, number>>;
  /** Whether outputs that continue inputs by rows are written where the inputs are: caches of keys and values. */
  readonly state: boolean;
  readonly known: Known;
}

const encoder = new TextEncoder();

/** The same for the same. */
export const textOf = (known: Known): string => JSON.stringify(known, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

/** SHA-256 over the SHA-256 of the parts. Where there is no crypto.subtle (pages that are not secure) there is no key, nor a cache. */
async function keyOf({model, external, target, dims, state, known}: Wanted): Promise<string | undefined> {
  const hash = await hashOf(model);
  if (hash === undefined) return undefined;
  const files = [...external].sort(([a], [b]) => (a < b ? -1 : 1)).map(async ([name, bytes]) => [name, await hashOf(bytes)]);
  const named = Object.entries(dims).sort(([a], [b]) => (a < b ? -1 : 1));
  const told = textOf(known);
  return hashOf(encoder.encode(JSON.stringify([compilerHash, target, named, state, hash, await Promise.all(files), told])));
}

function compilerAddress(): string | URL | undefined {
  const {wasmPaths} = env.wasm;
  // Other names are those of onnxruntime's own files.
  if (typeof wasmPaths === 'object') return /compiler[^/]*\.wasm/.test(String(wasmPaths.wasm)) ? wasmPaths.wasm : undefined;
  return undefined;
}

async function compile({model, external, target, dims, state, known: {constants, keepInputs, shapes}}: Wanted): Promise<Files> {
  const compiler = await import('../../compiler/src/index.ts');
  const known = {...dims};
  for (;;) {
    try {
      return await compiler.compile(model, {target, dims: known, state, constants, keepInputs, shapes, externalData: external, wasm: compilerAddress()});
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
  const kept = await openKept();
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
  if (key !== undefined) await (await openKept())?.delete(key);
}
