// Pages in Chromium with Transformers.js and an ONNX Runtime that is served as it is.
import {mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {gzipSync} from 'node:zlib';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {folderHandler} from '../../tools/demo/serve.mjs';
import {bundle} from '../../web/runtime/build/bundle.mjs';

/** Anonymous memory of this process's browsers in bytes (Linux). Mapped files do not count: other browsers share them. */
export function memoryOfBrowsers() {
  const read = (pid, file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    } catch {
      return ''; // it has ended
    }
  };
  const parents = new Map(readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((pid) => [pid, /^PPid:\s+(\d+)/m.exec(read(pid, 'status'))?.[1]]));
  const isOurs = (pid) => pid !== undefined && pid !== '0' && (pid === String(process.pid) || isOurs(parents.get(pid)));
  const pids = [...parents.keys()].filter((pid) => pid !== String(process.pid) && isOurs(pid));
  return 1024 * pids.reduce((sum, pid) => sum + Number(/^Anonymous:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0), 0);
}

/**
 * `installed`: where npm put Transformers.js. `ort`: see install.mjs. `models`: folders of checkpoints by their first part of the path. `args`: the browser's.
 * ask(options) gives what page.mjs answers in a new page; downloaded(): the bytes of ort's files that pages asked for, each once, after gzip.
 */
export async function openPages(installed, ort, models, args = []) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'gossamer-transformersjs-'));
  await bundle({
    entryPoints: {page: path.join(import.meta.dirname, 'page.mjs')},
    format: 'esm',
    outdir: folder,
    plugins: [{
      name: 'transformers.js',
      setup(build) {
        build.onResolve({filter: /^onnxruntime-(web|common)/}, () => ({path: `/ort/${ort.module}`, external: true}));
        build.onResolve({filter: /^@huggingface\/transformers$/}, () => ({path: path.join(installed, 'node_modules/@huggingface/transformers/dist/transformers.web.js')}));
      },
    }],
  });
  const handlers = {'': folderHandler(folder), ort: folderHandler(ort.folder), ...Object.fromEntries(Object.entries(models).map(([name, each]) => [name, folderHandler(each)]))};
  const html = folderHandler(import.meta.dirname);
  const asked = new Set();
  const server = createServer((request, response) => {
    const {pathname} = new URL(request.url, 'http://x');
    const [, first, rest] = /^\/([^/]*)(.*)$/.exec(pathname);
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    if (first === 'ort') asked.add(rest);
    if (pathname === '/page.html') html(pathname, request, response);
    else if (rest && handlers[first]) handlers[first](rest, request, response);
    else handlers[''](pathname, request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const browser = await startBrowser({args: ['--js-flags=--expose-gc', ...args]});
  const close = async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, {recursive: true});
  };
  return {
    close,
    downloaded: () => [...asked].reduce((sum, name) => sum + gzipSync(readFileSync(path.join(ort.folder, name))).length, 0),
    ask: (options) => visit((call) => call('ask', options)),
    visit,
  };

  /** work(call) with the functions of page.mjs in a new page. */
  async function visit(work) {
    const page = await browser.newPage();
    try {
      await page.goto(`http://localhost:${server.address().port}/page.html`);
      for (let left = 600; left > 0 && !(await page.evaluate('"ask" in globalThis')); --left) await new Promise((resolve) => setTimeout(resolve, 100));
      return await work((name, options) => page.call(name, options));
    } finally {
      await page.close();
    }
  }
}
