/** Finds the packages at an address, despite redirects and stale caches. */
import {KINDS} from '../devices/choose.ts';
import {type FileEntry, type Manifest, parseIndex, parseManifest} from './manifest.ts';
import type {Pieces} from './pieces.ts';
import {openChecked, type Source} from './source.ts';
import {type DeviceKind, GossamerError, messageOf} from '../values/types.ts';

export interface Package {
  readonly source: Source;
  readonly manifest: Manifest;
  /** The package by the manifest that the server has now, where that is another. */
  renewed(): Promise<Package | undefined>;
}

/** Whether something newer than what a cache gave may be without this problem. */
export const maybeStale = (problem: unknown): boolean =>
  problem instanceof GossamerError && ['source', 'damaged', 'version'].includes(problem.code);

async function readText(source: Source, name: string, fresh: boolean): Promise<string> {
  const text = new TextDecoder().decode((await source.read(name, {fresh})).take());
  if (/^\s*</.test(text)) {
    throw new GossamerError('source', `${source.where}${name}: the server answered with a page instead`);
  }
  return text;
}

/** A file as `parse` has it; where it makes no sense once more, past the cache. */
async function readJson<T>(source: Source, name: string, parse: (text: string) => T): Promise<T> {
  const text = await readText(source, name, false);
  try {
    return parse(text);
  } catch (problem) {
    if (!source.cached || !maybeStale(problem)) throw problem;
    const now = await readText(source, name, true).catch(() => text);
    if (now === text) throw problem;
    return parse(now);
  }
}

function readPackage(source: Source, name: string): Promise<Package> {
  const parse = (text: string): Package => ({
    source,
    manifest: parseManifest(text, source.where),
    renewed: async () => {
      const now = source.cached ? await readText(source, name, true).catch(() => text) : text;
      return now === text ? undefined : parse(now);
    },
  });
  return readJson(source, name, parse);
}

type Packages = Map<DeviceKind, () => Promise<Package>>;

async function readIndex(source: Source, name: string): Promise<Packages> {
  const parse = (text: string): Map<DeviceKind, string> => parseIndex(text, KINDS);
  const folders = await readJson(source, name, parse);
  const open = async (kind: DeviceKind, folder: string): Promise<Package> => {
    try {
      return await readPackage(source.folder(folder), 'manifest.json');
    } catch (problem) {
      if (!source.cached || !maybeStale(problem)) throw problem;
      const now = await readText(source, name, true).then(parse).catch(() => folders);
      const moved = now.get(kind);
      if (moved === undefined || moved === folder) throw problem;
      return readPackage(source.folder(moved), 'manifest.json');
    }
  };
  return new Map([...folders].map(([kind, folder]) => [kind, () => open(kind, folder)] as const));
}

async function readSingle(source: Source, name: string): Promise<Packages> {
  const found = await readPackage(source, name);
  return new Map([[found.manifest.target, () => Promise.resolve(found)]]);
}

/**
 * Every package at the address, by device; read when first asked for. A folder may be that of one or of
 * several: what its server answers for the file that is not there (a page, 403, ...) does not matter. Throws
 * 'source', saying what was answered, and what parseManifest throws.
 */
export async function findPackages(source: Source, file: string | undefined): Promise<Packages> {
  const read = (name: string): Promise<Packages> =>
    name === 'index.json' ? readIndex(source, name) : readSingle(source, name);
  if (file !== undefined) return read(file);
  // A folder that is called like a device is one of several.
  const names = ['index.json', 'manifest.json'];
  if (/(^|[/ ])web(gpu|gl)\/$|(^|[/ ])wasm\/$/.test(source.where)) names.reverse();
  const problems: GossamerError[] = [];
  for (const name of names) {
    try {
      return await read(name);
    } catch (problem) {
      if (!(problem instanceof GossamerError) || !['source', 'damaged'].includes(problem.code)) throw problem;
      problems.push(problem);
    }
  }
  const damaged = problems.find(({code}) => code === 'damaged');
  if (damaged) throw damaged;
  throw new GossamerError(
    'source',
    `${source.where} has no ${names.join(' and no ')}: ${problems.map(messageOf).join('; ')}. ` +
      'Put the folder that the compiler wrote there, or give the address of one of these files',
  );
}

/** Files of a package, fetched at the same time and checked. */
export async function readFiles(
  source: Source,
  entries: readonly FileEntry[],
  arrived: (bytes: number) => void,
): Promise<Map<string, Pieces>> {
  const files = entries.map(async (entry) => {
    const file = openChecked(source, entry, arrived);
    await file.here();
    return [entry.name, file] as const;
  });
  return new Map(await Promise.all(files));
}
