/** Models and packages that run in this process. */
import {readFile, stat} from 'node:fs/promises';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import type {CompileOptions} from '@gossamer/compiler';
import {load, type Model} from '@gossamer/runtime';
import {overridable} from '../../ort/src/signature.ts';
import {type Runnable, specializing} from '../../ort/src/specialized.ts';
import {compileFor} from './compiled.ts';
import {nativeOnly, type Target} from './compile_options.ts';
import {diagnosticOf, Failure} from './failure.ts';
import {filesOf} from './feeds.ts';
import type {ModelFile} from './model_file.ts';
import type {Progress} from './progress.ts';
import type {RecordOptions} from './records.ts';

/** What runs in Node.js. */
export function runsHere(target: Target): void {
  if (target === 'webgl') {
    throw nativeOnly('running --target webgl', 'a browser runs it as well: compile the model and open the folder from a web server');
  }
}

export async function openFiles(from: Parameters<typeof load>[0], target: Target, threads: number, where: string): Promise<Model> {
  try {
    return await load(from, {device: target, ...(threads > 0 && {threads})});
  } catch (problem) {
    const {message, hint, where: about} = diagnosticOf(problem, where);
    throw new Failure(about, message, hint);
  }
}

/** A package's folder; of several packages the one for the target. */
export async function openPackage(folder: string, target: Target | undefined, threads: number): Promise<Model> {
  const manifest = await readFile(join(folder, 'manifest.json'), 'utf8').catch(() => undefined);
  if (manifest === undefined && !(await stat(join(folder, 'index.json')).catch(() => undefined))) {
    throw new Failure(folder, 'is not a package', 'give an ONNX file, or a folder that `gossamer compile` wrote');
  }
  const own = manifest === undefined ? undefined : (JSON.parse(manifest) as {target?: string}).target;
  if (own !== undefined && !['webgpu', 'webgl', 'wasm'].includes(own)) throw new Failure(folder, `is compiled for ${own}`, 'run it by the native command, or compile the model for wasm');
  const chosen = target ?? (own as Target | undefined) ?? 'wasm';
  if (own !== undefined && own !== chosen) throw new Failure(folder, `is compiled for ${own}, not for ${chosen}`, `compile the model with --target ${chosen}`);
  runsHere(chosen);
  return openFiles(pathToFileURL(`${resolve(folder)}/`), chosen, threads, folder);
}

/** A model, compiled for this process; once more by its feeds where a run has to know them. */
export async function openRunnable(file: ModelFile, path: string, target: Target, inputs: readonly string[], options: Partial<CompileOptions>, records: RecordOptions, threads: number, progress: Progress): Promise<Runnable> {
  runsHere(target);
  const kept = [...new Set([...(options.keepInputs ?? []), ...overridable(file.model).filter((name) => filesOf(inputs, name).length > 0)])];
  return specializing(file.model, async ({shapes, constants, ...known}) => {
    const all = {
      ...options, ...known, ...(kept.length > 0 && {keepInputs: kept}), pieces: false,
      shapes: {...options.shapes, ...shapes}, constants: {...options.constants, ...constants},
    };
    return openFiles(await compileFor(target, file, path, all, records, progress), target, threads, path);
  }, kept);
}

/** Elements of sequences, where --input names one more than once. */
export function lengthsOf(inputs: readonly string[], given: Readonly<Record<string, number>> | undefined): Record<string, number> | undefined {
  const counts = new Map<string, number>();
  for (const each of inputs) {
    const name = each.slice(0, Math.max(0, each.indexOf('=')));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const several = [...counts].filter(([name, count]) => name !== '' && count > 1);
  return several.length > 0 || given ? {...Object.fromEntries(several), ...given} : undefined;
}

/** Said of a package whose inputs are fixed already. */
export function refuseFixed(path: string, given: Partial<CompileOptions>): void {
  const {shapes, dims, constants} = given;
  if (shapes ?? dims ?? constants) {
    throw new Failure(path, 'is a package: its shapes and constants are what it was compiled with', 'give --shape, --dim and --constant to `gossamer compile`');
  }
}
