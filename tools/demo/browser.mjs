// Headless Chromium through the browser tests' own sources.
import {rmSync} from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {bundle} from '../../web/runtime/build/bundle.mjs';

const tests = path.resolve(import.meta.dirname, '../../web/tests');

/** A browser as web/tests/src/browser.ts describes it. */
export async function startBrowser(options) {
  // Beside the tests, where its packages are found.
  const outfile = path.join(tests, 'dist', `demo-${process.pid}.mjs`);
  await bundle({
    entryPoints: [path.join(tests, 'src/browser.ts')],
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outfile,
  });
  try {
    const module = await import(pathToFileURL(outfile).href);
    return await module.startBrowser(options);
  } finally {
    rmSync(outfile);
  }
}
