/** Compiled models, kept with the stamps of the files that they were made from. */
import type {DeviceKind} from '../../runtime/src/index.ts';
import {hashOf} from '../../compiler/src/kept.ts';
import {type Files, type KeptFiles, openKept} from '../../ort/src/kept_files.ts';
import type {Folder} from './folder.ts';
import type {LoadOptions} from './language_model.ts';

/** Of compiler.wasm and of this package, by the build. */
declare const COMPILER: string | undefined;
declare const VERSION: string | undefined;

const made = typeof COMPILER === 'undefined' || typeof VERSION === 'undefined' ? '' : `${VERSION} ${COMPILER}`;

/** The name of the file with stamps in an entry; no package has one of this name. */
const STAMPS = 'sources.json';

export class KeptModel {
  readonly #files: KeptFiles;
  readonly #key: string;
  readonly #folder: Folder;

  private constructor(files: KeptFiles, key: string, folder: Folder) {
    this.#files = files;
    this.#key = key;
    this.#folder = folder;
  }

  /** Undefined where nothing is to be kept, or can be. */
  static async open(folder: Folder, target: DeviceKind, {cache = true, file, dtype, compilerWasm}: LoadOptions): Promise<KeptModel | undefined> {
    // Another compiler is not known by its content.
    const files = await openKept(compilerWasm === undefined || typeof cache === 'string' ? cache : false, 'cache');
    if (!files) return undefined;
    const parts = ['llm', made, String(compilerWasm), target, folder.where, file, dtype];
    const key = await hashOf(new TextEncoder().encode(JSON.stringify(parts)));
    return key === undefined ? undefined : new KeptModel(files, key, folder);
  }

  async #stamps(names: readonly string[]): Promise<string | undefined> {
    const stamps = await Promise.all(names.map(async (name) => [name, await this.#folder.stamp(name)] as const));
    return stamps.every(([, stamp]) => stamp !== undefined) ? JSON.stringify(stamps) : undefined;
  }

  /** The package; undefined where there is none, or where its sources have changed. */
  async get(): Promise<Files | undefined> {
    const found = await this.#files.get(this.#key);
    const stamps = found?.get(STAMPS);
    if (!found || !stamps) return undefined;
    const then = new TextDecoder().decode(stamps);
    const names = (JSON.parse(then) as [string, string][]).map(([name]) => name);
    found.delete(STAMPS);
    return (await this.#stamps(names)) === then ? found : undefined;
  }

  /** Nothing is kept where the folder does not say when its files change. */
  async put(files: Files, sources: readonly string[]): Promise<void> {
    const stamps = await this.#stamps(sources);
    if (stamps !== undefined) await this.#files.put(this.#key, new Map([[STAMPS, new TextEncoder().encode(stamps)], ...files]));
  }

  forget(): Promise<unknown> {
    return this.#files.delete(this.#key);
  }
}
