/** Files that scripts of this package fetch. */

/** The package's name without its scope, by the build. */
declare const PACKAGE: string | undefined;

/**
 * The address of a file next to the script. In development, Vite up to 7 serves a package's script from node_modules/.vite/deps, where the
 * other files are not; they are in the package's own folder.
 */
export function packageFile(nextTo: URL): URL {
  const moved = /\/node_modules\/\.vite\/(.*\/)?deps\//;
  // Otherwise as it is: some bundlers have URLs of their own here.
  return typeof PACKAGE !== 'undefined' && moved.test(nextTo.href) ? new URL(nextTo.href.replace(moved, `/node_modules/@gossamer/${PACKAGE}/dist/`)) : nextTo;
}
