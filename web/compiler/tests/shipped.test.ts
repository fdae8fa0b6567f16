import assert from 'node:assert/strict';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {CLASSES, classOf} from '../src/shipped.ts';
import type {compile as compileHere} from '../src/index.ts';
import {classifier} from './onnx.ts';

const folder = join(import.meta.dirname, '../../../../../src/shipped');

test('the class of a device follows from its adapter', () => {
  assert.equal(classOf('webgpu', 'nvidia hopper'), 'nvidia');
  assert.equal(classOf('webgpu', 'NVIDIA GeForce RTX 4090'), 'nvidia');
  assert.equal(classOf('webgpu', 'google swiftshader'), 'swiftshader');
  assert.equal(classOf('webgpu', 'amd rdna-3'), undefined);
  assert.equal(classOf('webgl', 'nvidia hopper'), undefined);
  assert.equal(classOf('wasm', 'nvidia hopper'), undefined);
});

test('classes of pages are those whose files have records for targets of pages', () => {
  const found = readdirSync(folder).filter((name) => name.endsWith('.jsonl')).flatMap((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    return ['webgpu', 'webgl', 'wasm'].filter((target) => text.includes(`"class":"${target}`)).map((target) => `${name.slice(0, -6)} ${target}`);
  });
  const rows = Object.entries(CLASSES).map(([name, {target}]) => `${name} ${target}`);
  assert.deepEqual(rows.sort(), found.sort());
});

test('each row has the words and the file of its class', () => {
  const source = readFileSync(join(folder, 'shipped.cc'), 'utf8');
  for (const [name, {words, address}] of Object.entries(CLASSES)) {
    const listed = new RegExp(`\\{"${name}", \\{([^}]*)\\}`).exec(source)?.[1]?.replaceAll('"', '').split(', ');
    assert.deepEqual(words.source.split('|'), listed);
    assert.ok(address().pathname.endsWith(`/records/${name}.jsonl`));
  }
});

const dist = join(import.meta.dirname, '../..');
const built = ['compiler.js', 'tuner.wasm', 'records/nvidia.jsonl', 'records/swiftshader.jsonl', 'records/wasmtime.jsonl'].every((name) => existsSync(join(dist, name)));

test('kernels take the records of the class that is named', {skip: built ? false : 'the compiler is not built (make web)'}, async () => {
  const {compile} = (await import(pathToFileURL(join(dist, 'compiler.js')).href)) as {compile: typeof compileHere};
  const onnx = classifier(512, 1000);
  const schedules = async (deviceClass?: string, records?: string, target: 'webgpu' | 'wasm' = 'webgpu'): Promise<string> => {
    const files = await compile(onnx, {target, deviceClass, records});
    return new TextDecoder().decode(files.get('manifest.json'));
  };
  // Node has no adapter, so nothing is known of the device.
  const plain = await schedules();
  assert.equal(await schedules('none'), plain);
  const shipped = await schedules('nvidia');
  assert.notEqual(shipped, plain);
  assert.equal(await schedules('wasmtime'), plain);
  // The user's own come first: that the default point is the best one of each kernel.
  const lines = readFileSync(join(dist, 'records/nvidia.jsonl'), 'utf8').replaceAll(/"ratio":[\d.]+/g, '"ratio":1').replaceAll(',"shipped":"nvidia"', '');
  assert.equal(await schedules('nvidia', lines), plain);
  assert.match(lines, /^\{"costs":"webgpu\.hardware"/m, 'what searches begin with');
});
