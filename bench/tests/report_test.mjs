// Tables and picture of a result, and which comparisons are made and given up.
import assert from 'node:assert/strict';
import test from 'node:test';
import {withoutTheSlow} from '../lib/job.mjs';
import {plot} from '../lib/plot.mjs';
import {markdown, ms, verdict} from '../lib/report.mjs';
import {chainOf, leftOut, modelOf, models} from '../models/table.mjs';
import {parties, partiesFor} from '../parties.mjs';

const time = (name, median, more) => ({name, rounds: 5, median, best: median, low: median, high: median, ratio: 10 / median, load: 1, first: 2, ...more});
const row = {model: 'resnet18', device: 'webgpu', threads: 1, parties: [time('gossamer', 10), time('ort-jsep', 20), time('ort-native', 5, {wrong: true, error: 0.5}), {name: 'litert', problem: 'no operator | here'}]};
const result = {machine: {kind: 'test', date: 'today', text: 'a machine'}, rows: [row, {model: 'matmul4096', device: 'webgpu', threads: 1, parties: [], leftOut: 'too large'}], problems: ['something']};

test('times have three digits, or as many as they need', () => {
  assert.deepEqual([1234, 100, 12.34, 1.234, 0.01234, undefined].map(ms), ['1234', '100', '12.3', '1.2', '0.012', '']);
});

test('what is wrong, refused or late is said', () => {
  assert.equal(verdict({median: 1}), '');
  assert.equal(verdict({problem: 'no', overMs: 6000}), '> 6000 ms');
  assert.match(verdict({problem: 'no'}), /^refuses: no/);
  assert.match(verdict({wrong: true, error: 0.5}), /^wrong: .*5e-1/);
});

test('a table has a row for each party, also for those without a time', () => {
  const lines = markdown(result).split('\n');
  const table = lines.filter((line) => line.startsWith('| ResNet-18'));
  assert.equal(table.length, row.parties.length);
  assert.match(table[1], /ONNX Runtime, JSEP \| 20\.0 \|.*\| 0\.50 \|/);
  assert.match(table[2], /wrong/);
  assert.match(table[3], /refuses: no operator \\\| here \|$/);
  assert.ok(lines.includes('| matmul 4096³ | webgpu | | | | | | | | | too large |'));
  assert.ok(lines.includes('- something'));
  const columns = (line) => line.replaceAll('\\|', '').split('|').length;
  assert.equal(new Set(lines.filter((line) => line.startsWith('|')).map(columns)).size, 1);
});

test('what tuning gains has a table of its own', () => {
  const tuned = [{model: 'resnet18', target: 'cpu', adapter: 'a | b', seconds: 30, trials: 90, failures: 1, runMsBefore: 3, runMsAfter: 2, kernelMsBefore: 2.5, kernelMsAfter: 2, changed: 4, kernels: 20}];
  const lines = markdown({...result, tuned}).split('\n');
  assert.ok(lines.includes('| resnet18 | cpu | a \\| b | 3.000 | 2.000 | 1.50 | 2.500 | 2.000 | 1.25 | 4 of 20 | 90 in 30 s |'), lines.filter((line) => line.includes('resnet18')).join());
  assert.ok(!markdown(result).includes('Tuned against'));
});

test('loading, sizes and compile times have tables where they were measured', () => {
  const load = [{model: 'resnet18', device: 'wasm', parties: [{name: 'gossamer', load: 1, first: 2, peak: 3 << 20, code: 1 << 20, weights: 0}]}];
  const text = markdown({...result, load, sizes: [{what: 'x', bytes: 2048, limit: 1024}], compile: [{what: 'y', edition: 'before', ms: 7}]});
  assert.match(text, /\| ResNet-18 \| wasm \| Gossamer \| 1\.0 \| 2\.0 \| 1\.0 \| 0\.0 \| 3\.0 \|  \|/);
  assert.match(text, /\| x \| 2\.0 \| 1\.0 \| \*\*missed\*\* \|/);
  assert.match(text, /\| y \| Gossamer before \| 7\.0 \|/);
  assert.ok(!markdown(result).includes('## Sizes'));
});

test('the picture has a dot for each right party, right of Gossamer’s where it is slower', () => {
  const svg = plot({...result, rows: [{...row, parties: [...row.parties, time('before', 5)]}]});
  const dots = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" r="5" fill="(#\w+)"/g)].slice(-3).map(([, x, , colour]) => [Number(x), colour]);
  const [jsep, before, ours] = dots;
  assert.ok(jsep[0] > ours[0] && before[0] < ours[0], JSON.stringify(dots));
  assert.ok(Math.abs(jsep[0] + before[0] - 2 * ours[0]) < 0.3); // twice and half are equally far
  assert.ok(!svg.includes('native'));
});

test('names in the tables are unique, and every party is somebody’s', () => {
  assert.equal(new Set(models.map(({name}) => name)).size, models.length);
  assert.equal(new Set(parties.map(({name}) => name)).size, parties.length);
  for (const model of models) for (const device of ['cpu', 'wasm', 'webgpu', 'webgl']) assert.equal(partiesFor(model, device)[0].name, 'gossamer');
});

test('chains are long where launches cost, and what would take minutes is left out', () => {
  const [small, large] = [modelOf('matmul512'), modelOf('matmul4096')];
  assert.deepEqual(chainOf(large, 'webgpu', false), [3, 35]);
  assert.deepEqual(chainOf(large, 'wasm', false), [1, 5]);
  assert.deepEqual(chainOf(small, 'wasm', false), [3, 35]);
  assert.deepEqual(chainOf(small, 'webgpu', true), [1, 5]);
  assert.equal(chainOf(modelOf('resnet18'), 'webgpu', false), undefined);
  assert.equal(leftOut(large, 'webgpu', false), undefined);
  assert.equal(leftOut(small, 'webgpu', true), undefined);
  for (const [device, software] of [['webgpu', true], ['wasm', false], ['webgl', false]]) assert.ok(leftOut(large, device, software));
});

test('who is too slow for a size is not tried at larger ones of that family', () => {
  const at = (model, device = 'cpu') => ({model, device, threads: 1, parties: ['gossamer', 'ort-node']});
  const left = [at('cumsum_1000000'), at('unique_1000000'), at('cumsum_1000000', 'wasm')];
  const late = {...at('cumsum_100000'), parties: [{name: 'gossamer', overMs: 6000}, time('ort-node', 3)]};
  const [same, ...others] = withoutTheSlow(left, late, 2000);
  assert.deepEqual(same.out.map(({name, overMs}) => [name, overMs]), [['gossamer', 6000]]);
  assert.ok(others.every(({out}) => out === undefined));
  const slow = {...late, parties: [time('gossamer', 2500), time('ort-node', 3)]};
  assert.equal(withoutTheSlow(left, slow, 2000)[0].out[0].overMs, 2500);
  assert.equal(withoutTheSlow([at('resnet50')], {...at('resnet18'), parties: [{name: 'gossamer', overMs: 1}]}, 2000)[0].out, undefined);
});
