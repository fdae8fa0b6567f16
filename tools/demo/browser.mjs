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

/** Waits longer than a page's waitFor does: a software GPU on a busy machine takes its time. */
export async function waitLong(page, expression, seconds = 180) {
  const end = performance.now() + 1000 * seconds;
  for (;;) {
    try {
      return await page.waitFor(expression);
    } catch (problem) {
      if (problem.name !== 'TimeoutError' || performance.now() > end) throw problem;
    }
  }
}
