// Draws the pictures of docs/inspector.md and of the site's gallery: ResNet-18 with seeded weights, measured in Node.js and in the command line.
//
//   node tests/inspector/pictures.mjs        in the repository's root, after make web and a build of gossamer
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {networkGraph, resnet18} from '../../bench/models/networks.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const {chromium} = createRequire(path.join(root, 'web/package.json'))('playwright-core');
const work = mkdtempSync(path.join(os.tmpdir(), 'inspector-pictures-'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));

/** Layers by the names that PyTorch gives them. */
function names(layers) {
  const found = new Map();
  let [stage, block, width, convolutions] = [1, 0, 64, 0];
  for (const {name, kind, shape} of layers) {
    if (kind === 'conv' && found.has('maxpool')) {
      if (shape[0] !== width) [stage, block, width, convolutions] = [stage + 1, 0, shape[0], 0];
      convolutions += 1;
      found.set(name, `/layer${stage}/layer${stage}.${block}/${convolutions === 3 ? 'downsample' : `conv${convolutions}`}`);
    } else if (kind === 'add') {
      found.set(name, `/layer${stage}/layer${stage}.${block}`);
      [block, convolutions] = [block + 1, 0];
    } else {
      found.set(name, {conv: '/conv1', maxpool: '/maxpool', mean: '/avgpool', dense: '/fc'}[kind] ?? '');
    }
    if (kind === 'maxpool') found.set('maxpool', '');
  }
  return found;
}

function model() {
  const network = resnet18();
  const graph = networkGraph(network);
  const scopes = names(network.layers);
  const renamed = (name) => {
    const layer = /^(.*_\d+)_(\w+)$/.exec(name);
    return layer && scopes.has(layer[1]) ? `${scopes.get(layer[1])}/${layer[2]}` : name;
  };
  for (const node of graph.nodes) {
    node.inputs = node.inputs.map(renamed);
    node.outputs = node.outputs.map(renamed);
  }
  graph.inputs[0].dims = ['batch', ...graph.inputs[0].shape.slice(1)];
  graph.outputs = graph.outputs.map((output) => ({...output, name: renamed(output.name), dims: ['batch', ...output.dims.slice(1)]}));
  return graph.file();
}

const file = path.join(work, 'resnet18.onnx');
const page = path.join(work, 'resnet18.html');
writeFileSync(file, model());
const gossamer = path.join(root, 'build/gossamer');
const profiles = ['wasm', 'cpu'].flatMap((target) => {
  const profile = path.join(work, `${target}.json`);
  writeFileSync(profile, execFileSync(gossamer, ['bench', file, '--target', target, '--profile', '--json']));
  return ['--profile', profile];
});
execFileSync(gossamer, ['inspect', file, '--html', page, ...profiles]);

const browser = await chromium.launch({executablePath: process.env.GOSSAMER_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox']});
try {
  const shot = async (to, fragment, size, then) => {
    const tab = await browser.newPage({viewport: size, colorScheme: 'light'});
    await tab.goto(`${pathToFileURL(page).href}${fragment}`);
    await tab.waitForSelector('.tabs');
    await then?.(tab);
    await tab.waitForTimeout(300);
    await tab.screenshot({path: path.join(root, to)});
    await tab.close();
  };
  const node = async (tab) => {
    await tab.getByRole('searchbox').fill('layer1.0/conv1/Conv');
    await tab.getByRole('searchbox').press('Enter');
    await tab.getByRole('searchbox').fill('');
  };
  await shot('docs/pictures/inspector-graph.png', '#tab=graph&target=wasm', {width: 1000, height: 720}, node);
  await shot('docs/pictures/inspector-overview.png', '#target=wasm', {width: 1000, height: 640});
  await shot('docs/pictures/inspector-compare.png', '#tab=compare&target=wasm&with=cpu', {width: 960, height: 720});
  await shot('docs/pictures/inspector-memory.png', '#tab=memory&target=wasm&dim.batch=8', {width: 1000, height: 620});
  await shot('site/public/pictures/example-inspector.png', '#tab=graph&target=wasm', {width: 900, height: 640});
} finally {
  await browser.close();
}
