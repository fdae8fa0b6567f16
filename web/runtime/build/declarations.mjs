// Declarations of a workspace's packages, below dist/types/FOLDER/src: those of other folders that it has types from come along.
import {execFileSync} from 'node:child_process';
import {readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';

const tsc = resolve(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

/**
 * A file's own declarations of WebGPU's types: libraries of TypeScript before version 6 have none, and applications that check
 * declarations of packages need not have @webgpu/types.
 */
function gpuTypes(text) {
  const names = new Set(text.match(/\bGPU(Adapter|BindGroup|Buffer|Command|Compute|Device|Texture)\w*/g));
  return Array.from(names, (name) => `type ${name} = typeof globalThis extends {${name}: {prototype: infer T}} ? T : any;\n`).join('');
}

/** By tsconfig.types.json, without checking types, which `npm run typecheck` does. Sources name each other as .ts; those who have declarations alone want .js. */
export function writeDeclarations(folder) {
  execFileSync(process.execPath, [tsc, '-p', join(folder, 'tsconfig.types.json')], {stdio: 'inherit'});
  const types = join(folder, 'dist/types');
  for (const name of readdirSync(types, {recursive: true}).filter((each) => each.endsWith('.d.ts'))) {
    const file = join(types, name);
    const text = readFileSync(file, 'utf8')
      .replace(/^\/\/\/ <reference path=.*\n/gm, '')
      .replace(/((?:from|import\(|declare module) ?['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2');
    writeFileSync(file, gpuTypes(text) + text);
  }
}
