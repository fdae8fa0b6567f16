/** Packages as folders, with the page that runs them. */
import {existsSync} from 'node:fs';
import {mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile, chmod} from 'node:fs/promises';
import {basename, dirname, join, resolve} from 'node:path';
import {diagnosticOf, Failure} from './failure.ts';
import {fileOf} from './model_file.ts';

export type Files = ReadonlyMap<string, Uint8Array>;

export interface PageOptions {
  readonly name: string;
  /** The text of --labels. */
  readonly labels: string | undefined;
  /** Whether there are packages for several targets. */
  readonly isSeveral: boolean;
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;'})[letter] ?? '&quot;');

/** dist/page of the run time. */
const pageFolder = (): string => join(dirname(fileOf('@gossamer/runtime')), 'page');

const filledIn = (html: string, {name, labels, isSeveral}: PageOptions): string =>
  html.replaceAll('{{NAME}}', () => escaped(name || 'Model')).replaceAll('{{MODEL}}', isSeveral ? 'index.json' : 'manifest.json').replaceAll('{{LABELS}}', labels ? 'labels.txt' : '');

/** The files with those of the page. */
export async function withPage(files: Files, options: PageOptions): Promise<Files> {
  const folder = pageFolder();
  const all = new Map(files);
  const entries = await readdir(folder, {withFileTypes: true});
  for (const {name} of entries.filter((entry) => entry.isFile() && entry.name !== 'single.html')) {
    const bytes = await readFile(join(folder, name));
    all.set(name, name.endsWith('.html') ? encode(filledIn(bytes.toString(), options)) : bytes);
  }
  if (options.labels) all.set('labels.txt', encode(options.labels));
  return all;
}

/** One .html with everything in it. */
export async function singlePage(files: Files, options: PageOptions): Promise<Uint8Array> {
  const html = filledIn(await readFile(join(pageFolder(), 'single.html'), 'utf8'), options);
  const all: [string, Uint8Array][] = [...files, ...(options.labels ? [['labels.txt', encode(options.labels)] as [string, Uint8Array]] : [])];
  const elements = all.map(([name, bytes]) => `<script type="application/octet-stream" data-file="${escaped(name)}">${Buffer.from(bytes).toString('base64')}</script>\n`);
  return encode(html.replace('<!--FILES-->', () => elements.join('')));
}

/** Writes a file by way of another one, so that it is never half there. */
export async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  await writeFile(`${path}.part`, bytes);
  await rename(`${path}.part`, path);
}

/** Replaces an empty folder or an older package as a whole. Throws a Failure. */
export async function writePackage(folder: string, files: Files): Promise<void> {
  const target = resolve(folder);
  const found = await stat(target).catch(() => undefined);
  if (found && !found.isDirectory()) throw new Failure(folder, 'exists and is not a folder');
  if (found && (await readdir(target)).length > 0 && !existsSync(join(target, 'manifest.json')) && !existsSync(join(target, 'index.json'))) {
    throw new Failure(folder, 'exists and is not a package', 'name a new folder or remove this one');
  }
  const made = await mkdir(dirname(target), {recursive: true}).then(() => mkdtemp(join(dirname(target), `.${basename(target)}.`))).catch((problem: unknown) => {
    throw new Failure(folder, `cannot be made: ${diagnosticOf(problem).message}`);
  });
  try {
    await chmod(made, 0o755);
    for (const [name, bytes] of files) {
      await mkdir(dirname(join(made, name)), {recursive: true});
      await writeFile(join(made, name), bytes);
    }
    // A folder cannot be replaced in one step: the old one moves aside, and goes when the new one is there.
    const old = `${made}.old`;
    if (found) await rename(target, old);
    await rename(made, target);
    await rm(old, {recursive: true, force: true});
  } catch (problem) {
    await rm(made, {recursive: true, force: true});
    throw new Failure(folder, `cannot be written: ${diagnosticOf(problem).message}`);
  }
}
