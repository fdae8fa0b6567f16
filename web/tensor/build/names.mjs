// Prints the public names of @gossamer/tensor/torch as JSON, by PyTorch's namespaces: what docs/pytorch.md lists (tests/pytorch/page.py).
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {bundle} from '../../runtime/build/bundle.mjs';

const folder = mkdtempSync(join(tmpdir(), 'gossamer-names-'));
const entry = resolve(import.meta.dirname, '../src/torch.ts');
await bundle({entryPoints: {names: entry}, outdir: folder, outExtension: {'.js': '.mjs'}, platform: 'node', format: 'esm', splitting: true, packages: 'external', minify: false});
const {Tensor, nn, optim} = await import(pathToFileURL(join(folder, 'names.mjs')));
rmSync(folder, {recursive: true});

/** Of a class, also those that it inherits. */
function members(type) {
  const names = [];
  for (let of = type.prototype; of && of !== Object.prototype; of = Object.getPrototypeOf(of)) names.push(...Object.getOwnPropertyNames(of));
  return names;
}
console.log(JSON.stringify({
  Tensor: members(Tensor), nn: Object.keys(nn), 'nn.Module': [...members(nn.Module), 'training'], 'nn.functional': Object.keys(nn.functional), optim: Object.keys(optim), 'optim.lr_scheduler': Object.keys(optim),
}));
