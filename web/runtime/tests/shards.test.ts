/** Weights in several files: streamed, resumed where a download was cut off, checked and kept by their SHA-256. */
import assert from 'node:assert/strict';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {test, type TestContext} from 'node:test';
import {gzipSync} from 'node:zlib';

import {largePackage} from '../../tests/fixtures/large.ts';
import {type FileMap, withFile, withManifest} from '../../tests/fixtures/tiny.ts';
import {startServer} from '../../tests/src/server.ts';
import {GossamerError, load, type LoadOptions, type Model, openDevice, type Progress} from '../src/index.ts';

const KIB = 2 ** 10;
/** Four files of two weights each. */
const OPTIONS = {count: 8, bytes: 128 * KIB, perFile: 2};
const SHARD = 'weights.2.safetensors';

/** What the model gives, in short: the first number of each output. */
async function firsts(model: Model): Promise<number[]> {
  const out = await model.run({});
  const values = await Promise.all(model.outputs.map(async ({name}) => (await out[name]?.data<Float32Array>())?.[0]));
  return values.map(Number);
}
const RIGHT = [0, 4, 8, 12, 16, 20, 24, 28];

type Respond = (bytes: Uint8Array, request: IncomingMessage, response: ServerResponse, times: number) => void;

const whole: Respond = (bytes, _, response) => response.end(bytes);

/** The rest of a file from where the request wants it. */
const ranged: Respond = (bytes, {headers}, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
  if (from > 0) response.writeHead(206, {'Content-Range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`});
  response.end(bytes.subarray(from));
};

/** Ends the connection after so many bytes. */
const cut = (bytes: Uint8Array, response: ServerResponse, most: number): void => {
  if (!response.headersSent) response.writeHead(200, {'Content-Length': bytes.length});
  response.write(bytes.subarray(0, most), () => setTimeout(() => response.destroy(), 5));
};

interface Site {
  readonly url: string;
  /** Requests, as 'name' or 'name from N'. */
  readonly asked: string[];
}

async function serve(context: TestContext, files: FileMap, respond: Readonly<Record<string, Respond>> = {}): Promise<Site> {
  const server = await startServer();
  const asked: string[] = [];
  const times = new Map<string, number>();
  server.put('/m', (rest, request, response) => {
    const name = rest.slice(1);
    const from = /^bytes=(\d+)/.exec(request.headers.range ?? '')?.[1];
    asked.push(from === undefined ? name : `${name} from ${from}`);
    const bytes = files.get(name);
    if (!bytes) return void response.writeHead(404).end();
    times.set(name, (times.get(name) ?? 0) + 1);
    (respond[name] ?? whole)(bytes, request, response, times.get(name) ?? 0);
  });
  context.after(() => server.close());
  return {url: `${server.origin}/m/manifest.json`, asked};
}

async function refuses(loading: Promise<Model>, message: RegExp, code = 'damaged'): Promise<void> {
  await assert.rejects(loading, (problem) => {
    assert.ok(problem instanceof GossamerError, String(problem));
    assert.match(problem.message, message);
    assert.equal(problem.code, code);
    return true;
  });
}

/** A Cache Storage for the time of a test: Node has none. */
function fakeCaches(context: TestContext): Map<string, Uint8Array> {
  const kept = new Map<string, Uint8Array>();
  const cache = {
    match: (key: string) => Promise.resolve(kept.has(key) ? new Response(kept.get(key) as Uint8Array<ArrayBuffer>) : undefined),
    // Browsers copy each part before they ask for the next.
    put: async (key: string, response: Response) => {
      const parts: Uint8Array[] = [];
      for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) parts.push(part.slice());
      kept.set(key, new Uint8Array(Buffer.concat(parts)));
    },
    delete: (key: string) => Promise.resolve(kept.delete(key)),
  };
  Object.assign(globalThis, {caches: {open: () => Promise.resolve(cache)}});
  context.after(() => Reflect.deleteProperty(globalThis, 'caches'));
  return kept;
}

/** The cache takes files while they arrive, and load() does not wait for it. */
async function keeps(kept: ReadonlyMap<string, Uint8Array>, count: number): Promise<void> {
  for (let turn = 0; turn < 1000 && kept.size < count; ++turn) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(kept.size, count);
}

const shardsAsked = (asked: readonly string[]): string[] => asked.filter((name) => name.startsWith('weights')).sort();

test('several files are read in order, a few ahead, with progress in bytes', async (context) => {
  const files = await largePackage(OPTIONS);
  const {url, asked} = await serve(context, files);
  const seen: Progress[] = [];
  using model = await load(url, {onProgress: (progress) => void seen.push(progress)});
  assert.deepEqual(await firsts(model), RIGHT);
  assert.deepEqual(shardsAsked(asked), [1, 2, 3, 4].map((at) => `weights.${at}.safetensors`));
  const last = (stage: Progress['stage']): Progress | undefined => seen.findLast((each) => each.stage === stage);
  const bytes = [...files].reduce((sum, [name, file]) => sum + (name === 'manifest.json' ? 0 : file.length), 0);
  assert.deepEqual(last('download'), {stage: 'download', done: bytes, total: bytes});
  assert.deepEqual(last('upload'), {stage: 'upload', done: 8 * 128 * KIB, total: 8 * 128 * KIB});
});

test('of many files three are here or under way at once', async () => {
  const files = await largePackage({...OPTIONS, count: 20});
  let open = 0;
  let most = 0;
  const fetch: NonNullable<LoadOptions['fetch']> = async (url) => {
    const name = url.split('/').at(-1) ?? '';
    most = Math.max(most, name.startsWith('weights') ? ++open : 0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (name.startsWith('weights')) --open;
    return new Response(files.get(name) as Uint8Array<ArrayBuffer>);
  };
  using model = await load('https://models.test/manifest.json', {fetch});
  assert.deepEqual((await firsts(model)).slice(-2), [72, 76]);
  assert.equal(most, 3);
});

test('a download that is cut off goes on where it ended', async (context) => {
  const files = await largePackage(OPTIONS);
  const size = files.get(SHARD)?.length ?? 0;
  const {url, asked} = await serve(context, files, {
    [SHARD]: (bytes, request, response, times) =>
      times === 1 ? cut(bytes, response, 100 * KIB) : ranged(bytes, request, response, times),
  });
  const seen: number[] = [];
  using model = await load(url, {onProgress: ({stage, done}) => void (stage === 'download' && seen.push(done))});
  assert.deepEqual(await firsts(model), RIGHT);
  const [first, second, ...more] = asked.filter((name) => name.startsWith(SHARD));
  assert.equal(first, SHARD);
  const from = Number(/from (\d+)/.exec(second ?? '')?.[1]);
  assert.ok(from > 0 && from <= 100 * KIB && from < size, second);
  assert.deepEqual(more, []);
  assert.ok(seen.every((done, at) => done >= (seen[at - 1] ?? 0)), 'progress never goes back');
});

test('where a server has no ranges, or others than were asked for, the file is the same', async (context) => {
  const files = await largePackage(OPTIONS);
  const others: Respond[] = [
    whole,
    (bytes, _, response) => { // from the start, but called a part
      response.writeHead(206, {'Content-Range': `bytes 0-${bytes.length - 1}/${bytes.length}`}).end(bytes);
    },
    (_, __, response) => response.writeHead(416).end(), // then fetched as a whole once more
  ];
  for (const [at, other] of others.entries()) {
    const {url, asked} = await serve(context, files, {
      [SHARD]: (bytes, request, response, times) => {
        if (times === 1) cut(bytes, response, 100 * KIB);
        else if (request.headers.range) other(bytes, request, response, times);
        else response.end(bytes);
      },
    });
    using model = await load(url);
    assert.deepEqual(await firsts(model), RIGHT, String(at));
    assert.equal(asked.filter((name) => name.startsWith(SHARD)).length, at === 2 ? 3 : 2);
  }
});

test('what is compressed goes on without a range', async (context) => {
  const files = await largePackage(OPTIONS);
  const {url, asked} = await serve(context, files, {
    [SHARD]: (bytes, _, response, times) => {
      const packed = gzipSync(bytes);
      response.writeHead(200, {'Content-Encoding': 'gzip'});
      if (times === 1) cut(packed, response, packed.length / 2);
      else response.end(packed);
    },
  });
  using model = await load(url);
  assert.deepEqual(await firsts(model), RIGHT);
  assert.deepEqual(asked.filter((name) => name.startsWith(SHARD)), [SHARD, SHARD]);
});

test('a server that cuts every answer is had out by going on, and one that gives nothing more is given up', async (context) => {
  const files = await largePackage({count: 2, bytes: 3 * 2 ** 20, perFile: 1});
  const first = 'weights.1.safetensors';
  const part = 1.25 * 2 ** 20;
  const {url, asked} = await serve(context, files, {
    [first]: (bytes, {headers}, response) => {
      const from = Number(/\d+/.exec(headers.range ?? '')?.[0] ?? 0);
      response.writeHead(from ? 206 : 200, {
        'Content-Length': bytes.length - from, ...(from && {'Content-Range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`}),
      });
      cut(bytes.subarray(from), response, part);
    },
  });
  using model = await load(url);
  assert.deepEqual(await firsts(model), [0, 4]);
  assert.ok(asked.filter((name) => name.startsWith(first)).length >= 3);
  const short = await serve(context, withFile(files, first, files.get(first)?.subarray(0, 1000)));
  await refuses(load(short.url), /weights\.1\.safetensors has 1000 bytes instead of \d+ \(the download was cut off\?\)/);
});

test('files are kept by their SHA-256, and a load that was broken off goes on', async (context) => {
  const kept = fakeCaches(context);
  const files = await largePackage(OPTIONS);
  const broken = await serve(context, withFile(files, 'weights.4.safetensors', undefined));
  await refuses(load(broken.url), /weights\.4\.safetensors: the server answered 404/, 'source');
  await keeps(kept, 3);
  const {url, asked} = await serve(context, files);
  for (const wanted of [['weights.4.safetensors'], []]) {
    asked.length = 0;
    const seen: Progress[] = [];
    using model = await load(url, {onProgress: (progress) => void seen.push(progress)});
    assert.deepEqual(await firsts(model), RIGHT);
    assert.deepEqual(shardsAsked(asked), wanted);
    const {done, total} = seen.findLast(({stage}) => stage === 'download') ?? {};
    assert.equal(done, total);
    await keeps(kept, 4);
  }
  // Somebody else's bytes under the key are noticed, and fetched.
  const key = [...kept.keys()][1] ?? '';
  kept.set(key, (kept.get(key) as Uint8Array).map((byte) => byte ^ 1));
  asked.length = 0;
  using model = await load(url);
  assert.deepEqual(await firsts(model), RIGHT);
  assert.equal(shardsAsked(asked).length, 1);
  await keeps(kept, 4);
  using again = await load(url);
  assert.deepEqual(await firsts(again), RIGHT);
  assert.equal(shardsAsked(asked).length, 1);
});

test('caching is as asked for', async (context) => {
  const kept = fakeCaches(context);
  const several = await serve(context, await largePackage(OPTIONS));
  const single = await serve(context, await largePackage({count: 2, bytes: 64 * KIB}));
  for (const [site, cache, count] of [[several, false, 0], [single, undefined, 0], [single, true, 1], [several, undefined, 5]] as const) {
    using model = await load(site.url, {cache});
    assert.equal((await firsts(model))[1], 4);
    await keeps(kept, count);
  }
  // What cannot be kept is used all the same.
  const refusal = (): Promise<never> => Promise.reject(new Error('QuotaExceededError'));
  for (const caches of [{open: refusal}, {open: () => Promise.resolve({match: refusal, put: refusal, delete: refusal})}]) {
    Object.assign(globalThis, {caches});
    using model = await load(several.url);
    assert.deepEqual(await firsts(model), RIGHT);
  }
});

test('where there is no cache, as in pages that are not secure, nothing is kept and all is checked', async (context) => {
  asInPages(context);
  const files = await largePackage(OPTIONS);
  const {url} = await serve(context, files);
  const {crypto} = globalThis;
  Object.defineProperty(globalThis, 'crypto', {value: {}, configurable: true});
  try {
    using model = await load(url, {cache: true});
    assert.deepEqual(await firsts(model), RIGHT);
    const bad = await serve(context, withFile(files, SHARD, (files.get(SHARD) as Uint8Array).map((byte) => byte ^ 1)));
    await refuses(load(bad.url), /weights\.2\.safetensors has hash/);
  } finally {
    Object.defineProperty(globalThis, 'crypto', {value: crypto, configurable: true});
  }
});

type Change = (manifest: {files: {name: string; bytes: number; xxh3: string; sha256: string; pieces?: string[]}[]; weights: {file: number}[]}) => void;
const changed = (files: FileMap, change: Change): FileMap =>
  withManifest(files, (manifest) => change(manifest as unknown as Parameters<Change>[0]));

/** Takes away something that this platform has, for the time of a test. */
function without(context: TestContext, owner: object, name: string): void {
  const had = Object.getOwnPropertyDescriptor(owner, name);
  assert.ok(had && Reflect.deleteProperty(owner, name), name);
  context.after(() => Object.defineProperty(owner, name, had));
}
/** So that files are checked as in pages, not by Node.js. */
const asInPages = (context: TestContext): void => without(context, process, 'getBuiltinModule');

const LARGE = 'weights.safetensors';
const MIB = 2 ** 20;
const LARGE_RIGHT = [0, 4, 8];
const flipped = (files: FileMap, at: number): FileMap => {
  const bytes = (files.get(LARGE) as Uint8Array).slice();
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return withFile(files, LARGE, bytes);
};

test('larger files are checked by their pieces', async (context) => {
  asInPages(context);
  const kept = fakeCaches(context);
  const files = await largePackage({count: 3, bytes: 3 * MIB});
  const size = files.get(LARGE)?.length ?? 0;
  const other = changed(files, ({files: all}) => all.forEach(({pieces}) => pieces?.splice(1, 1, '0'.repeat(64))));
  for (const [bad, at] of [[flipped(files, 4 * MIB - 1), 0], [flipped(files, 4 * MIB), 1], [flipped(files, size - 1), 2], [other, 1]] as const) {
    const message = new RegExp(`${LARGE} has hash \\w+ instead of \\w+ in the ${4 * MIB} bytes from ${4 * MIB * at} on: it was changed`);
    await refuses(load(bad), message);
    await refuses(load((await serve(context, bad)).url, {cache: true}), message);
  }
  // One that is longer than listed, in the same part or the next, is said to be.
  for (const name of [LARGE, 'kernels.wasm']) {
    const bytes = files.get(name) as Uint8Array;
    const longer = await serve(context, withFile(files, name, Buffer.concat([bytes, bytes])));
    await refuses(load(longer.url), new RegExp(`${name} has \\d+ bytes instead of ${bytes.length} `));
    assert.deepEqual(longer.asked.filter((each) => each.startsWith(name)), [name, name], 'once more, past the cache');
  }
  const before = kept.size;
  // A download that is cut off goes on within a piece; what threads share is as good.
  const {url, asked} = await serve(context, files, {
    [LARGE]: (bytes, request, response, times) => (times === 1 ? cut(bytes, response, 5 * MIB) : ranged(bytes, request, response, times)),
  });
  const shared = new Uint8Array(new SharedArrayBuffer(size));
  shared.set(files.get(LARGE) as Uint8Array);
  for (const from of [url, url, withFile(files, LARGE, shared)]) {
    using model = await load(from, {cache: true});
    assert.deepEqual(await firsts(model), LARGE_RIGHT);
    await keeps(kept, before + 1);
  }
  assert.equal(asked.filter((each) => each.startsWith(LARGE)).length, 2);
});

test('a large file is taken as it arrives, and a block that is not as listed is fetched again with those after it', async (context) => {
  asInPages(context);
  const kept = fakeCaches(context);
  const files = await largePackage({count: 3, bytes: 3 * MIB});
  const bytes = files.get(LARGE) as Uint8Array;
  const seen: Progress[] = [];
  let held = (): void => undefined;
  const {url, asked} = await serve(context, files, {
    // The second block is wrong at first, and the last one waits until something is uploaded.
    [LARGE]: (_, __, response, times) => {
      if (times === 1) return void response.end(flipped(files, 5 * MIB).get(LARGE));
      response.write(bytes.subarray(0, 8 * MIB));
      held = () => response.end(bytes.subarray(8 * MIB));
    },
  });
  const onProgress = (progress: Progress): void => {
    seen.push(progress);
    if (progress.stage === 'upload') held();
  };
  using model = await load(url, {cache: true, onProgress});
  assert.deepEqual(await firsts(model), LARGE_RIGHT);
  assert.equal(asked.filter((each) => each.startsWith(LARGE)).length, 2);
  await keeps(kept, 1);
  assert.deepEqual([...kept.values()][0], new Uint8Array(bytes));
  const first = seen.findIndex(({stage}) => stage === 'upload');
  assert.ok(seen.slice(first).some(({stage}) => stage === 'download'), 'a weight is uploaded before the file has arrived');
});

test('a package that lists hashes of another takes its place in no cache', async (context) => {
  const kept = fakeCaches(context);
  const sizes = {count: 3, bytes: 3 * MIB};
  const [files, strange] = [await largePackage(sizes), await largePackage({...sizes, add: 1})];
  const entryOf = (of: FileMap): {sha256: string; pieces?: string[]} =>
    (JSON.parse(new TextDecoder().decode(of.get('manifest.json'))) as {files: {name: string; sha256: string; pieces?: string[]}[]})
      .files.find(({name}) => name === LARGE) as {sha256: string; pieces?: string[]};
  const {sha256, pieces} = entryOf(files);
  const forged = (more: object): FileMap =>
    changed(strange, ({files: all}) => Object.assign(all.find(({name}) => name === LARGE) ?? {}, more));
  const keysOf = async (from: FileMap): Promise<string[]> => {
    kept.clear();
    using model = await load((await serve(context, from)).url, {cache: true});
    assert.equal((await firsts(model)).length, 3);
    await keeps(kept, 1);
    return [...kept.keys()].sort();
  };
  const own = await keysOf(files);
  // Where sha256 is what is checked.
  const byWhole = await keysOf(forged({pieces}));
  const unlisted = await keysOf(withManifest(files, (manifest) => (manifest as unknown as {files: {pieces?: string[]}[]}).files.forEach((entry) => delete entry.pieces)));
  asInPages(context);
  assert.deepEqual(await keysOf(files), own, 'the same file has one key, however it is checked');
  const byPieces = await keysOf(forged({sha256}));
  for (const keys of [byWhole, byPieces]) {
    assert.ok(keys.length === 1 && !own.includes(keys[0] ?? '') && !unlisted.includes(keys[0] ?? ''), keys.join());
  }
});

test('larger files are checked in one pass in Node.js and where pages are not secure', async (context) => {
  const files = await largePackage({count: 3, bytes: 3 * MIB});
  const size = files.get(LARGE)?.length ?? 0;
  for (const where of ['Node.js', 'a page']) {
    if (where === 'a page') {
      asInPages(context);
      without(context, globalThis, 'crypto');
    }
    using model = await load(files);
    assert.deepEqual(await firsts(model), LARGE_RIGHT);
    await refuses(load(flipped(files, size - 1)), /weights\.safetensors has hash \w+ instead of/);
  }
});

for (const where of ['Node.js', 'a page']) {
  test(`what is cut, changed or of another model is refused, and the model before goes on: ${where}`, async (context) => {
    if (where === 'a page') asInPages(context);
    const kept = fakeCaches(context);
    const files = await largePackage(OPTIONS);
    const other = await largePackage({...OPTIONS, add: 1});
    const good = await serve(context, files);
    using device = await openDevice('wasm');
    using model = await load(good.url, {device});
    const before = device.memory();
    const shard = files.get(SHARD) as Uint8Array;
    const flipped = shard.slice();
    flipped[shard.length - 5] = (flipped[shard.length - 5] ?? 0) ^ 16;
    const headed = (from: string, to: string): Uint8Array => {
      const text = new TextDecoder('latin1').decode(shard).replace(from, to);
      return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    };
    const bad: [FileMap, RegExp][] = [
      [withFile(files, SHARD, shard.subarray(0, -4)), /weights\.2\.safetensors has \d+ bytes instead of \d+ \(the download was cut off\?\)/],
      [withFile(files, SHARD, Buffer.concat([shard, shard])), /weights\.2\.safetensors has \d+ bytes instead of \d+ \(another file\?\)/],
      [withFile(files, SHARD, flipped), /weights\.2\.safetensors has hash \w+ instead of/],
      [withFile(files, SHARD, other.get(SHARD)), /weights\.2\.safetensors has hash \w+ instead of/],
      // A manifest that lies about what is there.
      [changed(files, ({files: list}) => list.forEach((entry) => (entry.bytes += 64))), /has \d+ bytes instead of/],
      [changed(files, ({files: list}) => list.forEach((entry) => entry.sha256 && (entry.sha256 = '0'.repeat(64)))), /has hash \w+ instead of 0+: it was changed, or is another model's/],
      [changed(files, ({weights}) => weights.forEach((weight) => (weight.file = 1))), /weights\.1\.safetensors: "w2" is nothing/],
      [changed(files, ({weights}) => ((weights[0] as {file: number}).file = 9)), /weights\[0\]\.file is not in \[0, 5\)/],
      [changed(files, ({weights}) => ((weights[0] as {file: number}).file = 0)), /kernels\.wasm/],
    ];
    for (const [spoilt, message] of bad) {
      kept.clear();
      const {url} = await serve(context, spoilt);
      await refuses(load(url, {device}), message);
      assert.deepEqual(await firsts(model), RIGHT);
      assert.deepEqual(device.memory(), before);
    }
    // Whole files with headers that lie: the hashes are those of the file.
    const {seal} = await import('../../tests/fixtures/tiny.ts');
    const size = 128 * KIB;
    const headers: [string, string, RegExp][] = [
      [`[${size},${2 * size}]`, `[${size - 4},${2 * size - 4}]`.padEnd(15), /header\.w3\.data_offsets is not apart from those of others/],
      [`[${size},${2 * size}]`, `[${size},${2 * size + 4}]`, /header\.w3\.data_offsets\[1\] is not in/],
      [`[${size},${2 * size}]`, `[${size},${2 * size - 4}]`, /"w3" is f32 \[32768\], the manifest wants/],
    ];
    for (const [from, to, message] of headers) {
      const list = new Map([...files].filter(([name]) => name !== 'manifest.json'));
      const manifest = JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as object;
      const sealed = await seal(manifest, list.set(SHARD, headed(from, to)));
      const {url} = await serve(context, sealed);
      await refuses(load(url, {device}), message);
      assert.deepEqual(await firsts(model), RIGHT);
    }
  });
}

test('files above the folder are shared by its packages', async (context) => {
  const files = await largePackage(OPTIONS);
  const above = changed(files, ({files: list}) => list.forEach((entry) => entry.sha256 && Object.assign(entry, {above: entry.name !== 'kernels.wasm'})));
  const tree: FileMap = new Map([...above].map(([name, bytes]) => [name.startsWith('weights') ? name : `wasm/${name}`, bytes]));
  tree.set('index.json', new TextEncoder().encode('{"variants": {"wasm": "wasm/"}}'));
  using inMemory = await load(tree);
  assert.deepEqual(await firsts(inMemory), RIGHT);
  const {url, asked} = await serve(context, tree);
  for (const address of ['/m/', '/m/wasm/', '/m/wasm/manifest.json?x']) {
    asked.length = 0;
    using model = await load(new URL(address, url));
    assert.deepEqual(await firsts(model), RIGHT);
    assert.ok(asked.includes(SHARD), asked.join());
  }
  tree.delete(SHARD);
  await refuses(load(url.replace('manifest.json', 'wasm/')), /\/m\/weights\.2\.safetensors: the server answered 404/, 'source');
});

test('a load that fails ends its downloads', async (context) => {
  const files = await largePackage(OPTIONS);
  let closed = false;
  const {url} = await serve(context, withFile(files, 'kernels.wasm', files.get('kernels.wasm')?.subarray(1)), {
    [SHARD]: (bytes, _, response) => {
      const drip = setInterval(() => response.write(bytes.subarray(0, 16)), 10);
      response.on('close', () => {
        closed = true;
        clearInterval(drip);
      });
    },
  });
  await refuses(load(url), /kernels\.wasm has \d+ bytes instead of/);
  for (let turn = 0; turn < 3000 && !closed; ++turn) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(closed);
});
