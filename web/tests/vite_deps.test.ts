// @gossamer/ort as Vite up to 7 serves it in development: its scripts are bundled into node_modules/.vite/deps, and its other files stay in
// the package, whose folder has any name there is by npm's overrides.
import assert from 'node:assert/strict';
import {cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {build} from 'esbuild';

import {perceptron} from '../compiler/tests/onnx.ts';
import {startBrowser} from './src/browser.ts';
import {folder, type Handler, startServer, text} from './src/server.ts';

const bundle = join(import.meta.dirname, '../../../ort/dist');
const skip = existsSync(join(bundle, 'compiler.wasm')) ? false : '@gossamer/ort is not built with compiler.wasm (make web)';

const PAGE = `<!doctype html><meta charset="utf-8"><script type="module">
import {InferenceSession} from '/node_modules/.vite/deps/ort.js?v=0';
globalThis.inputsOn = async (device) => {
  const session = await InferenceSession.create('/model.onnx', {executionProviders: [device]});
  return session.inputNames;
};
</script>`;

/** Serves an application's folder as Vite does. Gives the inputs of a session there, and the paths of the files that it fetched. */
async function sessionIn(app: string, packaged: string): Promise<{inputs: unknown; fetched: Set<string>}> {
  const server = await startServer();
  const fetched = new Set<string>();
  const page = text(PAGE, 'text/html');
  const files = (root: string): Handler => (rest, request, response) => {
    const path = join(root, rest);
    if (/\.wasm$|_worker\.js$|sessions\.js$/.test(rest) && request.method === 'GET') fetched.add(path);
    // Vite answers with the application's page where there is no file.
    return (statSync(path, {throwIfNoEntry: false})?.isFile() ? folder(root) : page)(rest, request, response);
  };
  server.put('/', files(app));
  server.put('/@fs', files('/'));
  server.put('/@id/onnxruntime-web', (rest, request, response) =>
    text(request.url?.endsWith('?import&url') ? `export default "/@fs${join(packaged, rest)}"` : '', 'text/javascript')(rest, request, response));
  server.put('/model.onnx', text(perceptron('n'), 'application/octet-stream'));
  const browser = await startBrowser();
  try {
    const tab = await browser.newPage();
    await tab.goto(`${server.origin}/index.html`);
    await tab.waitFor('"inputsOn" in globalThis');
    return {inputs: await tab.call('inputsOn', 'wasm'), fetched};
  } finally {
    await browser.close();
    server.close();
  }
}

for (const [where, above] of [['in the application', ''], ['in a workspace above it', '..']] as const) {
  test(`the files of a package are found on Vite's development server: ${where}`, {skip}, async () => {
    const work = mkdtempSync(join(tmpdir(), 'vite-deps-'));
    try {
      const app = join(work, 'repository/app');
      const packaged = join(app, above, 'node_modules/onnxruntime-web/dist');
      mkdirSync(packaged, {recursive: true});
      cpSync(bundle, packaged, {recursive: true});
      const outdir = join(app, 'node_modules/.vite/deps');
      await build({entryPoints: [join(packaged, 'ort.js')], bundle: true, splitting: true, format: 'esm', sourcemap: true, outdir, logLevel: 'error'});
      const {inputs, fetched} = await sessionIn(app, packaged);
      assert.deepEqual(inputs, ['x']);
      assert.deepEqual(fetched, new Set(['compiler.wasm', 'compiler_worker.js', 'runtime_worker.js', 'sessions.js'].map((name) => join(packaged, name))));
    } finally {
      rmSync(work, {recursive: true});
    }
  });
}
