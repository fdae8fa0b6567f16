// The packed packages in pages without any bundler, below strict policies.
import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import path from 'node:path';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {folderHandler} from '../../tools/demo/serve.mjs';

/** What web/runtime/README.md says that pages need. */
const POLICIES = {
  strict: `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'`,
  gpu: `default-src 'none'; script-src 'self'; connect-src 'self'`,
  single: `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self' blob:`,
};

/** Serves a folder, below /POLICY/ or with one policy for all, and other folders by their names, `files` being one; isolated where `isolated`. */
export async function serve(folder, files, {isolated = true, policy, also = {}} = {}) {
  const app = folderHandler(folder);
  const others = new Map(Object.entries({...(files && {files}), ...also}).map(([name, each]) => [name, folderHandler(each)]));
  const server = createServer((request, response) => {
    const {pathname} = new URL(request.url, 'http://x');
    const [, first, rest] = /^\/([^/]*)(\/.*)$/.exec(pathname) ?? [];
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
    response.setHeader('Access-Control-Allow-Origin', '*');
    const rules = POLICIES[policy ?? first];
    if (rules) response.setHeader('Content-Security-Policy', rules);
    if (others.has(first)) others.get(first)(rest, request, response);
    else if (policy) app(pathname, request, response);
    else if (rest) app(rest, request, response);
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {address: `http://localhost:${server.address().port}/`, close: () => (server.closeAllConnections(), server.close())};
}

/** What is wrong with an answer: other numbers, something refused, a fallback. */
export function trouble({values, error, refused, fallbacks = []}, expected) {
  if (error) return error;
  if (refused.length > 0) return `the policy refused ${refused.join(', ')}`;
  if (fallbacks.length > 0) return fallbacks.map(({what, reason}) => `${what}: ${reason}`);
  const worst = Math.max(...expected.map((value, at) => Math.abs(value - values[at])));
  return values.length === expected.length && worst < 1e-4 ? undefined : `gives ${values}`;
}

/** A tab with a page that has a function `name`. */
export async function opened(browser, address, name) {
  const tab = await browser.newPage();
  await tab.goto(address);
  // Not waitFor, which evaluates texts in the page.
  for (let left = 1200; left > 0 && !(await tab.evaluate(`"${name}" in globalThis`)); --left) await new Promise((resolve) => setTimeout(resolve, 100));
  return tab;
}

/** What a page's function `name` answers, in a tab of its own. */
export async function asked(browser, address, name, options) {
  const tab = await opened(browser, address, name);
  try {
    return await tab.call(name, options);
  } finally {
    await tab.close();
  }
}

/** `app`: has node_modules and the files of forms/; `files`: digits.onnx, image, and packages by their target. */
export async function forms(tally, {app, files, expected}) {
  const here = await serve(app, files);
  const browser = await startBrowser();
  const ask = (page, options) => asked(browser, here.address + page, 'ask', options);
  const right = async (name, page, options) => tally.record(name, trouble(await ask(page, options), expected));
  try {
    for (const device of ['wasm', 'webgpu', 'webgl']) {
      await right(`a module, compiled in the page, ${device}`, 'strict/module.html', {device, strict: true});
    }
    const threads = await ask('strict/module.html', {device: 'wasm', threads: 2, strict: true});
    tally.record('threads are workers from files', threads.threads === 2 && /in a worker/.test(threads.adapter) ? trouble(threads, expected) : JSON.stringify(threads));
    const gpu = await ask('gpu/module.html', {device: 'webgpu', compiled: true, strict: true});
    tally.record('a module, run time alone, WebGPU without WebAssembly', trouble(gpu, expected));
    const refused = await ask('gpu/module.html', {device: 'wasm', compiled: true});
    tally.record('wasm without wasm-unsafe-eval says what the policy lacks', /wasm-unsafe-eval/.test(refused.error) ? [] : JSON.stringify(refused));
    for (const device of ['wasm', 'webgpu']) {
      const {values, error, refused: not} = await ask('strict/tensor.html', {device});
      tally.record(`tensors learn below the strict policy, ${device}`, values?.[0] < 1e-3 && not.length === 0 ? [] : error ?? JSON.stringify({values, not}));
    }
    for (const device of ['wasm', 'webgpu', 'webgl']) {
      await right(`code for onnxruntime-web, a module, ${device}`, 'strict/ort.html', {device});
    }
    const {values, error} = await ask('strict/ort.html', {device: 'webgpu', onGpu: true});
    tally.record('code for onnxruntime-web with outputs on the GPU', error ?? trouble({values, refused: []}, expected));
    await right('code for onnxruntime-web, a classic script', 'single/ort_classic.html', {device: 'wasm'});
    await right('a classic script below its policy', 'single/classic.html', {device: 'wasm', strict: true});
    // Without worker-src blob: it computes on the page's own thread, and says so.
    const blobless = await ask('strict/classic.html', {device: 'wasm'});
    const said = blobless.fallbacks?.some(({what}) => what === 'one thread on the main thread');
    tally.record('a classic script below the strict policy says that it has no worker', said ? trouble({...blobless, refused: [], fallbacks: []}, expected) : JSON.stringify(blobless));
    await right('a module worker', 'strict/workers.html', {script: 'worker_module.js', type: 'module', device: 'wasm', strict: true});
    await right('a module worker, threads', 'strict/workers.html', {script: 'worker_module.js', type: 'module', device: 'wasm', threads: 2, strict: true});
    await right('a classic worker', 'single/workers.html', {script: 'worker_classic.js', type: 'classic', device: 'wasm', strict: true});
    await right('a service worker', 'strict/workers.html', {script: 'service_module.js', type: 'module', service: true, device: 'wasm', strict: true});
    await right('a classic service worker', 'strict/workers.html', {script: 'worker_classic.js', type: 'classic', service: true, device: 'wasm', strict: true});
    await right('code for onnxruntime-web in a module service worker', 'strict/workers.html', {script: 'service_ort.js', type: 'module', service: true, device: 'wasm'});
    // Workers of another origin, and of a server that sends the embedder policy with pages alone, come from a blob that imports them.
    const there = await serve(app, files, {isolated: false});
    await right('libraries of another origin', 'free/cross.html', {device: 'wasm', threads: 2, strict: true, from: `${there.address}free/`});
    there.close();
  } finally {
    await browser.close();
    here.close();
  }
}

/** The elements of a stored tensor: its raw data is what it ends with. */
export function lastFloats(file, count) {
  const bytes = readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + bytes.length - 4 * count, bytes.byteOffset + bytes.length));
}

export const formsFolder = path.join(import.meta.dirname, 'forms');
