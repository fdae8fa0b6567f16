/** Files that scripts of this package fetch. */

/** The address of a file next to the script, as bundlers made it. */
export async function packageFile(nextTo: URL): Promise<URL> {
  // Below a folder such as node_modules/.vite/deps there are scripts alone.
  return /\/\..*\/deps\//.test(nextTo.href) ? (await import('../../vite/vite.ts')).packageFileOnVite(nextTo) : nextTo;
}
