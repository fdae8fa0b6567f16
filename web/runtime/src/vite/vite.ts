/**
 * Files of this package on the development server of Vite up to 7, which bundles the scripts of dependencies into node_modules/.vite/deps and
 * leaves their other files where they are. Source maps tell from where: the package's folder may have any name (npm's overrides and aliases).
 */

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly (string | null)[];
}

/** A text by which source maps tell this script from those of other packages. */
const MARK = 'gossamer: a script in its package';

const isThere = async (url: URL): Promise<boolean> => {
  const {ok, headers} = await fetch(url, {method: 'HEAD'});
  // The page of the application answers for files that are missing.
  return ok && !headers.get('content-type')?.includes('text/html');
};

/** The address of this script in its package; undefined: Vite was set to make no source maps. */
async function packagedScript(bundled: URL): Promise<string | undefined> {
  const response = await fetch(new URL(`${bundled.pathname}.map`, bundled));
  const {sources, sourcesContent} = (await response.json()) as SourceMap;
  return sources[sourcesContent.findIndex((text) => text?.includes(MARK))];
}

/** `nextTo`: the file's address next to the bundled script. Where the file is not found, gives that. */
export async function packageFileOnVite(nextTo: URL): Promise<URL> {
  try {
    const bundled = new URL(import.meta.url);
    const [folder] = /.*\/dist\//.exec((await packagedScript(bundled)) ?? '') ?? [];
    if (!folder) return nextTo;
    const file = nextTo.pathname.replace(/^.*\/deps\//, '');
    const url = new URL(folder + file, bundled);
    if (await isThere(url)) return url;
    // Above the application's folder, as in a workspace of npm, files have addresses that only the server knows. It answers with a module.
    const [name] = /(@[^/]+\/)?[^/]+(?=\/dist\/)/.exec(folder) ?? [];
    const base = nextTo.pathname.replace(/(node_modules\/)?\..*/, '');
    const module = await (await fetch(new URL(`${base}@id/${name}/${file}?import&url`, bundled))).text();
    const [, address] = /export default "([^"]+)"/.exec(module) ?? [];
    return address ? new URL(address, bundled) : nextTo;
  } catch {
    return nextTo;
  }
}
