/** Compiled models in a folder of Node.js, Deno or Bun: one file each, the latest ones. */
import type * as FileSystem from 'node:fs/promises';
import type * as Os from 'node:os';
import type * as Path from 'node:path';
import {messageOf} from '../../runtime/src/values/types.ts';
import {builtin} from './builtin.ts';
import {type Files, headOf, type KeptFiles, lengthOfList, listOf, MOST} from './kept_files.ts';

/** Of all entries together. */
const MOST_BYTES = 4 * 2 ** 30;
/** Of one read or write. */
const PIECE = 2 ** 30;
/** Milliseconds after which an unfinished entry is what an ended process left. */
const ABANDONED = 3_600_000;

/** Where the system's programs keep what they can make again. */
function standardFolder(os: typeof Os, path: typeof Path): string {
  const {platform, env} = (globalThis as unknown as {process: {platform: string; env: Record<string, string | undefined>}}).process;
  const base = platform === 'win32' ? env['LOCALAPPDATA'] : platform === 'darwin' ? path.join(os.homedir(), 'Library/Caches') : env['XDG_CACHE_HOME'];
  return path.join(base ?? path.join(os.homedir(), '.cache'), 'gossamer', 'compiled');
}

async function readExactly(file: FileSystem.FileHandle, length: number, from: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const {bytesRead} = await file.read(bytes, at, Math.min(length - at, PIECE), from + at);
    if (bytesRead === 0) throw new Error('the file is too short');
    at += bytesRead;
  }
  return bytes;
}

async function readEntry(file: FileSystem.FileHandle): Promise<Files> {
  const length = lengthOfList(await readExactly(file, 4, 0));
  const {size: most} = await file.stat();
  if (length > most) throw new Error('the list is longer than the file');
  let at = 4 + length;
  const files: Files = new Map();
  for (const [name, size] of listOf(await readExactly(file, length, 4))) {
    if (at + size > most) throw new Error('the file is too short');
    files.set(name, await readExactly(file, size, at));
    at += size;
  }
  return files;
}

async function writeEntry(file: FileSystem.FileHandle, files: Files): Promise<void> {
  for (const bytes of [headOf(files), ...files.values()]) {
    for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, Math.min(bytes.length - at, PIECE))).bytesWritten;
  }
}

/** The folder `given`, or one of the user's own. Undefined where that cannot be made; rejects for a `given` one. */
export async function openFolder(given: string | undefined, setting: string): Promise<KeptFiles | undefined> {
  const [fs, os, path] = [builtin<typeof FileSystem>('node:fs/promises'), builtin<typeof Os>('node:os'), builtin<typeof Path>('node:path')];
  if (!fs || !os || !path) return undefined;
  const folder = given ?? standardFolder(os, path);
  try {
    await fs.mkdir(folder, {recursive: true});
  } catch (problem) {
    if (given === undefined) return undefined;
    throw new Error(`${setting}: the folder ${folder} cannot be made: ${messageOf(problem)}. Name another one, or set it to false`, {cause: problem});
  }
  const fileOf = (key: string): string => path.join(folder, `${key}.package`);

  const removeOld = async (): Promise<void> => {
    const found = await Promise.all((await fs.readdir(folder)).filter((name) => /\.(package|part)$/.test(name)).map(async (name) => {
      const file = path.join(folder, name);
      const {size, mtimeMs} = await fs.stat(file);
      return {file, size, mtimeMs};
    }));
    const isPart = ({file}: {readonly file: string}): boolean => file.endsWith('.part');
    const entries = found.filter((each) => !isPart(each)).sort((a, b) => b.mtimeMs - a.mtimeMs);
    let bytes = 0;
    const old = entries.filter(({size}, at) => (bytes += size) > MOST_BYTES || at >= MOST);
    const abandoned = found.filter((each) => isPart(each) && each.mtimeMs < Date.now() - ABANDONED);
    await Promise.all([...old, ...abandoned].map(({file}) => fs.rm(file, {force: true})));
  };

  return {
    isEmpty: async () => !(await fs.readdir(folder)).some((name) => name.endsWith('.package')),
    async get(key) {
      const file = await fs.open(fileOf(key), 'r').catch(() => undefined);
      if (!file) return undefined;
      try {
        const files = await readEntry(file);
        await fs.utimes(fileOf(key), new Date(), new Date()).catch(() => undefined); // the latest used stay
        return files;
      } catch {
        return undefined; // what is broken there is made again
      } finally {
        await file.close();
      }
    },
    async put(key, files) {
      const part = path.join(folder, `${key}.${crypto.randomUUID()}.part`);
      try {
        const file = await fs.open(part, 'wx');
        try {
          await writeEntry(file, files);
        } finally {
          await file.close();
        }
        await fs.rename(part, fileOf(key)); // whole, also for other processes
        await removeOld();
      } catch {
        await fs.rm(part, {force: true}).catch(() => undefined); // no room for it: it is compiled each time
      }
    },
    delete: (key) => fs.rm(fileOf(key), {force: true}),
  };
}
