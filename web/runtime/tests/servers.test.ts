import assert from 'node:assert/strict';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {test, type TestContext} from 'node:test';
import {gzipSync} from 'node:zlib';

import {type FileMap, tinyFolder, tinyPackage, withFile, withManifest} from '../../tests/fixtures/tiny.ts';
import {type Server, startServer} from '../../tests/src/server.ts';
import {GossamerError, load, type LoadOptions, type Model, tensor} from '../src/index.ts';

const k = tensor(BigInt64Array.of(1n, -8n));
const x = tensor(Float32Array.of(0, 1, 2, 3), [1, 4]);

/** What the model computes tells which weight it has: y = 2 w x + 3. */
async function weightOf(model: Model): Promise<number> {
  const {y} = await model.run({x, k});
  const [zero = 0, one = 0] = (await y?.data()) as Float32Array;
  return (one - zero) / 2;
}

type Respond = (request: IncomingMessage, response: ServerResponse, rest: string) => void;

async function serve(context: TestContext, respond: Respond): Promise<Server> {
  const server = await startServer();
  server.put('/site', (rest, request, response) => respond(request, response, rest.slice(1)));
  context.after(() => server.close());
  return server;
}

const page = (response: ServerResponse): void => {
  response.setHeader('Content-Type', 'text/html');
  response.end('<!doctype html><title>app</title>');
};

/** What servers do about files that they have not. */
const MISSING: Record<string, (response: ServerResponse) => void> = {
  'a page': page,
  '403': (response) => response.writeHead(403).end('no'),
  '404': (response) => response.writeHead(404).end(),
  '410': (response) => response.writeHead(410).end(),
  'another file of JSON': (response) => response.end('{"error": "not found"}'),
  'a redirect to a page': (response) => response.writeHead(302, {Location: '/site/app'}).end(),
};

for (const [name, missing] of Object.entries(MISSING)) {
  test(`a folder is found where the server answers ${name} for what is not there`, async (context) => {
    for (const files of [await tinyPackage('wasm', {n: 4}), await tinyFolder({n: 4})]) {
      const {origin} = await serve(context, (_, response, rest) => {
        const bytes = files.get(rest);
        if (bytes) response.end(bytes);
        else if (rest === 'app') page(response);
        else missing(response);
      });
      for (const address of [`${origin}/site`, `${origin}/site/`]) {
        using model = await load(address, {device: 'wasm'});
        assert.equal(await weightOf(model), 2.5);
      }
    }
  });
}

test('neither file there is one error that says what was answered', async (context) => {
  const {origin} = await serve(context, (_, response, rest) => {
    if (rest === 'index.json') page(response);
    else response.writeHead(403).end();
  });
  await assert.rejects(load(`${origin}/site/?token=secret`), (problem) => {
    assert.ok(problem instanceof GossamerError);
    assert.equal(problem.code, 'source');
    assert.match(problem.message, /no index\.json and no manifest\.json/);
    assert.match(problem.message, /index\.json: the server answered with a page/);
    assert.match(problem.message, /manifest\.json: the server answered 403 Forbidden/);
    assert.match(problem.message, /Put the folder that the compiler wrote there/);
    assert.doesNotMatch(problem.message, /secret/);
    return true;
  });
  await assert.rejects(load(`${origin}/site/index.json`), /index\.json: the server answered with a page instead/);
});

test('a query goes to every file', async (context) => {
  const files = await tinyFolder({n: 4});
  const asked: string[] = [];
  const {origin} = await serve(context, (request, response, rest) => {
    asked.push(request.url ?? '');
    if (!request.url?.endsWith('?token=a%2Fb&x')) response.writeHead(403).end();
    else response.writeHead(files.has(rest) ? 200 : 404).end(files.get(rest));
  });
  for (const file of ['', 'index.json', 'wasm/', 'wasm/manifest.json']) {
    using model = await load(`${origin}/site/${file}?token=a%2Fb&x#part`, {device: 'wasm'});
    assert.equal(await weightOf(model), 2.5);
  }
  assert.deepEqual(asked.filter((url) => !url.endsWith('?token=a%2Fb&x')), []);
  // One request a file, and none for what is not there: index.json, manifest.json and two files.
  assert.equal(asked.length, 4 + 4 + 3 + 3);
});

test('requests are made as the user says', async (context) => {
  const files = await tinyPackage('wasm', {n: 4});
  const {origin} = await serve(context, (request, response, rest) => {
    const allowed = request.headers.authorization === 'Bearer x';
    response.writeHead(!allowed ? 401 : files.has(rest) ? 200 : 404).end(files.get(rest));
  });
  const address = `${origin}/site/manifest.json`;
  await assert.rejects(load(address), /answered 401 Unauthorized/);
  using model = await load(address, {requestInit: {headers: {Authorization: 'Bearer x'}}});
  assert.equal(await weightOf(model), 2.5);
  const asked: [string, RequestInit][] = [];
  using other = await load('https://models.test/m/manifest.json', {
    requestInit: {credentials: 'include'},
    fetch: (url, init) => {
      asked.push([url, init]);
      return Promise.resolve(new Response(files.get(url.split('/').at(-1) ?? '') as Uint8Array<ArrayBuffer>));
    },
  });
  assert.equal(await weightOf(other), 2.5);
  assert.deepEqual(asked.map(([url]) => url).sort(), ['kernels.wasm', 'manifest.json', 'weights.safetensors'].map((name) => `https://models.test/m/${name}`));
  assert.ok(asked.every(([, init]) => init.credentials === 'include'));
});

test('what is compressed or comes without a length is read as it is', async (context) => {
  const files = await tinyPackage('wasm', {n: 4});
  const {origin} = await serve(context, (_, response, rest) => {
    const bytes = files.get(rest);
    if (!bytes) return void response.writeHead(404).end();
    if (rest === 'manifest.json') return void response.end(bytes);
    const packed = gzipSync(bytes);
    response.writeHead(200, {'Content-Encoding': 'gzip', ...(rest.endsWith('.wasm') && {'Content-Length': packed.length})});
    response.end(packed);
  });
  using model = await load(`${origin}/site/`);
  assert.equal(await weightOf(model), 2.5);
});

test('a download that is cut off is made once more', async (context) => {
  const files = await tinyPackage('wasm', {n: 4});
  for (const announced of [true, false]) {
    const asked = new Map<string, number>();
    const {origin} = await serve(context, (_, response, rest) => {
      const bytes = files.get(rest);
      const times = (asked.get(rest) ?? 0) + 1;
      asked.set(rest, times);
      if (!bytes) return void response.writeHead(404).end();
      if (rest === 'manifest.json' || times > 1) return void response.end(bytes);
      if (announced) response.writeHead(200, {'Content-Length': bytes.length});
      response.write(bytes.subarray(0, 40));
      setTimeout(() => (announced ? response.destroy() : response.end()), 20);
    });
    const stages: number[] = [];
    const onProgress: LoadOptions['onProgress'] = ({stage, done}) => void (stage === 'download' && stages.push(done));
    using model = await load(`${origin}/site/`, {onProgress});
    assert.equal(await weightOf(model), 2.5);
    assert.equal(asked.get('kernels.wasm'), 2);
    const sizes = ['kernels.wasm', 'weights.safetensors'].map((name) => files.get(name)?.length ?? 0);
    assert.equal(stages.at(-1), sizes.reduce((sum, size) => sum + size));
  }
});

test('a file without end is not read without end', async () => {
  const files = await tinyPackage('wasm', {n: 4});
  let pulled = 0;
  const endless = (): ReadableStream => new ReadableStream({pull: (out) => out.enqueue(new Uint8Array(2 ** 20).fill(++pulled))});
  const loading = load('https://models.test/manifest.json', {
    fetch: (url) => Promise.resolve(new Response(url.endsWith('.wasm') ? endless() : (files.get(url.split('/').at(-1) ?? '') as Uint8Array<ArrayBuffer>))),
  });
  await assert.rejects(loading, /kernels\.wasm has \d+ bytes instead of/);
  assert.ok(pulled < 10);
});

test('giving up is prompt, whatever fetch waits for', async () => {
  const stop = new AbortController();
  const never = (): Promise<never> => new Promise(() => undefined);
  const loading = load('https://models.test/', {fetch: never, signal: stop.signal});
  setTimeout(() => stop.abort(new Error('enough')), 20);
  await assert.rejects(loading, /enough/);
});

/** A fetch with a cache that keeps everything, and says what went to the server. */
function caching(files: () => FileMap): {fetch: NonNullable<LoadOptions['fetch']>; asked: string[]; cache: Map<string, Uint8Array>} {
  const cache = new Map<string, Uint8Array>();
  const asked: string[] = [];
  const fetch = (url: string, {cache: mode}: RequestInit): Promise<Response> => {
    const name = new URL(url).pathname.slice(1);
    let bytes = mode === 'reload' ? undefined : cache.get(name);
    if (!bytes) asked.push(name);
    bytes ??= files().get(name);
    if (!bytes) return Promise.resolve(new Response('', {status: 404}));
    cache.set(name, bytes);
    return Promise.resolve(new Response(bytes as Uint8Array<ArrayBuffer>));
  };
  return {fetch, asked, cache};
}

const SITE = 'https://models.test/';

test('a cache with older files, or an older manifest, does not matter', async () => {
  const old = await tinyPackage('wasm', {n: 4, w: 2.5});
  const now = await tinyPackage('wasm', {n: 4, w: 4});
  // The kernels of both are the same, so an older manifest and its weights are a whole package.
  const stale: [string, readonly string[], number][] = [
    ['older files', ['kernels.wasm', 'weights.safetensors'], 4],
    ['an older manifest', ['manifest.json'], 4],
    ['all of the older package', ['manifest.json', 'weights.safetensors'], 2.5],
  ];
  for (const [what, names, weight] of stale) {
    const {fetch, asked, cache} = caching(() => now);
    for (const name of names) cache.set(name, old.get(name) as Uint8Array);
    using model = await load(`${SITE}manifest.json`, {fetch});
    assert.equal(await weightOf(model), weight, what);
    assert.ok(asked.length <= 5, `${what}: ${asked.join()}`);
  }
  // A manifest that was cut off when it was cached; one of another version; one that lists what is gone.
  const text = old.get('manifest.json') as Uint8Array;
  const spoilt = [
    text.subarray(0, 100),
    (await tinyPackage('wasm', {n: 4, version: 7})).get('manifest.json'),
    withManifest(old, (manifest) => (manifest['files'] as object[]).push({name: 'gone', bytes: 1, xxh3: '0'.repeat(16)})).get('manifest.json'),
  ];
  for (const manifest of spoilt) {
    const {fetch, cache} = caching(() => now);
    cache.set('manifest.json', manifest as Uint8Array);
    using model = await load(`${SITE}manifest.json`, {fetch});
    assert.equal(await weightOf(model), 4);
  }
});

test('an index in a cache may be older than the folders', async () => {
  const folder = await tinyFolder({n: 4});
  const index = (path: string): Uint8Array => new TextEncoder().encode(`{"variants": {"wasm": "${path}"}}`);
  const moved: FileMap = new Map([...folder].map(([name, bytes]) => [`v2/${name}`, bytes] as const));
  const {fetch, cache} = caching(() => moved.set('index.json', index('v2/wasm')));
  cache.set('index.json', index('v1/wasm/'));
  using model = await load(SITE, {fetch});
  assert.equal(await weightOf(model), 2.5);
});

test('what stays damaged is said to be, after one more attempt', async () => {
  const good = await tinyPackage('wasm', {n: 4});
  const weights = (good.get('weights.safetensors') as Uint8Array).map((byte) => byte ^ 1);
  const {fetch, asked} = caching(() => withFile(good, 'weights.safetensors', weights));
  await assert.rejects(load(`${SITE}manifest.json`, {fetch}), /weights\.safetensors has hash \w+ instead of/);
  const times = (name: string): number => asked.filter((each) => each === name).length;
  assert.deepEqual([times('manifest.json'), times('weights.safetensors'), times('kernels.wasm')], [2, 2, 1]);
});

const HOSTILE = [
  '', '.', '..', '../x', '/x', 'a/b', 'a\\b', 'file:///etc/passwd', 'https://other.test/x', '//other.test/x', 'data:,x',
  'C:\\x', '%2e%2e%2fx', 'a%2fb', 'a\0', 'a\n', 'a?b', 'a#b', ' a', '-a', '.a', 'é', 'a'.repeat(129),
];

test('a package names files of its own folder only', async () => {
  const good = await tinyPackage('wasm', {n: 4});
  for (const name of HOSTILE) {
    const {fetch, asked} = caching(() =>
      withManifest(good, (manifest) => Object.assign((manifest['files'] as object[])[0] ?? {}, {name})));
    await assert.rejects(load(`${SITE}manifest.json`, {fetch}), /package\.files\[0\]\.name is not a plain name/);
    assert.deepEqual(new Set(asked), new Set(['manifest.json']), name);
    if (/^[a-z]\/b$/.test(name)) continue;
    const index = new TextEncoder().encode(JSON.stringify({variants: {wasm: name}}));
    const several = caching(() => new Map([['index.json', index]]));
    await assert.rejects(load(`${SITE}index.json`, {fetch: several.fetch}), /index\.variants\.wasm is not a folder below/);
    assert.deepEqual(new Set(several.asked), new Set(['index.json']), name);
  }
});
