// node bench/profile.mjs PACKAGE [--runs N] [--dims 1,2]: where a package's time goes, launch by launch
// and by kernel. For a wasm package on this thread; for a cpu package through bench/cpu/serve.cc.
// A launch's time is its fastest of N runs, which other work on the machine hardly touches.
// Packages for GPUs, and others with --page, in Chromium: [--dims n=1,h=2] [--threads N] [--trace FILE] [--browser PATH]
// [--browser-args "A B"].
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import {openCpu} from './lib/cpu/serve.mjs';
import {mobilenetv2, resnet18, resnet50, squeezenet} from './models/networks.mjs';
import {profileInPage} from './lib/profile_page.mjs';
import {openWasmPackage} from './lib/wasm_package.mjs';

const {values: options, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    runs: {type: 'string', default: '30'}, dims: {type: 'string', default: ''}, build: {type: 'string'},
    page: {type: 'boolean'}, threads: {type: 'string'}, trace: {type: 'string'}, browser: {type: 'string'},
    'browser-args': {type: 'string', default: ''},
  },
});

async function wasmTimes(folder, runs) {
  const dims = options.dims ? options.dims.split(',').map(Number) : [];
  const model = await openWasmPackage((name) => readFileSync(join(folder, name)), dims);
  model.input().fill(0.5);
  const best = model.launches.map(() => Infinity);
  for (let run = 0; run < runs; ++run) {
    for (const [at, launch] of model.launches.entries()) {
      const begin = process.hrtime.bigint();
      launch.run();
      best[at] = Math.min(best[at], Number(process.hrtime.bigint() - begin) / 1e6);
    }
  }
  return model.launches.map(({name, schedule, origin}, at) => ({name, schedule, origin, ms: best[at]}));
}

async function cpuTimes(folder, runs) {
  const model = await openCpu(folder, {build: options.build});
  const launches = await model.profile(runs);
  model.close();
  return launches;
}

/** GFLOP of a launch, by the layer's name in its origin. */
function flopsOf(net) {
  const known = new Map();
  for (const {name, kind, shape, weight} of net?.layers ?? []) {
    if (!weight) continue;
    const [, ...rest] = weight.shape;
    const flops = 2 * rest.reduce((product, extent) => product * extent, 1) * shape.reduce((a, b) => a * b, 1);
    const shapes = `${weight.shape.join('x')} -> ${shape.join('x')}`;
    known.set(name, {flops, shapes, kind});
  }
  return ({origin}) => known.get(/^(?:Conv|Gemm) "([^"]*)_(?:Conv|Gemm)"/.exec(origin)?.[1]);
}

for (const folder of positionals) {
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  const runs = Number(options.runs);
  if (options.page || manifest.target.startsWith('web')) {
    const dims = Object.fromEntries(options.dims.split(',').filter(Boolean).map((each) => each.split('=')).map(([name, value]) => [name, Number(value)]));
    const threads = options.threads ? {threads: Number(options.threads)} : {};
    const args = options['browser-args'].split(' ').filter(Boolean);
    const {table, trace} = await profileInPage(folder, {dims, runs, ...threads}, {browser: options.browser, args});
    console.log(table);
    if (options.trace) writeFileSync(options.trace, trace);
    continue;
  }
  const times = await (manifest.target === 'cpu' ? cpuTimes : wasmTimes)(folder, runs);
  const net = [resnet18(), resnet50(), mobilenetv2(), squeezenet()].find(({name}) => name === manifest.name);
  const work = flopsOf(net);
  const total = times.reduce((sum, {ms}) => sum + ms, 0);
  const rate = net ? `, ${(net.flops / total / 1e6).toFixed(1)} GFLOP/s` : '';
  console.log(`\n## ${manifest.name}, ${manifest.target}: ${times.length} launches, ${total.toFixed(2)} ms${rate}\n`);
  const groups = new Map();
  for (const {name, schedule, ms, ...launch} of times) {
    const key = `${name} | ${schedule.replace(/ along.*/, '').replace(/axis -?\d+/g, '').replace(/\s+/g, ' ')}`;
    const group = groups.get(key) ?? {ms: 0, count: 0, flops: 0};
    const flops = name.includes('.') || name === 'pack' ? 0 : (work(launch)?.flops ?? 0);
    groups.set(key, {ms: group.ms + ms, count: group.count + 1, flops: group.flops + flops});
  }
  const speed = (flops, ms) => (flops ? (flops / ms / 1e6).toFixed(1) : '');
  const bySize = (a, b) => b.ms - a.ms;
  console.log('| kernel | schedule | launches | ms | % | GFLOP/s |\n|---|---|---|---|---|---|');
  for (const [key, {ms, count, flops}] of [...groups].sort(([, a], [, b]) => bySize(a, b))) {
    console.log(`| ${key} | ${count} | ${ms.toFixed(3)} | ${((100 * ms) / total).toFixed(1)} | ${speed(flops, ms)} |`);
  }
  console.log('\n| ms | kernel | GFLOP/s | weights -> output | schedule | origin |\n|---|---|---|---|---|---|');
  for (const launch of [...times].sort(bySize).slice(0, 30)) {
    const found = launch.name.includes('.') ? undefined : work(launch);
    const origin = launch.origin.replace(/"/g, '').slice(0, 60);
    console.log(`| ${launch.ms.toFixed(3)} | ${launch.name} | ${speed(found?.flops, launch.ms)} | ${found?.shapes ?? ''} | ${launch.schedule} | ${origin} |`);
  }
}
