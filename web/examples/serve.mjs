#!/usr/bin/env node
// Builds the examples' pages and serves them: node serve.mjs [FOLDER] [--port N] [--rounds N]
// FOLDER holds models and data (models/, data/); without it pages ask for files. Also starts an averaging server of
// --rounds rounds for the pages that learn together.
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, statSync} from 'node:fs';
import os from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {folderHandler, serve} from '../../tools/demo/serve.mjs';
import {bundle} from '../runtime/build/bundle.mjs';

const here = import.meta.dirname;
const dist = join(here, 'dist');

function numberOf(words, option, otherwise, most) {
  const at = words.indexOf(option);
  const value = at < 0 ? otherwise : Number(words.splice(at, 2)[1]);
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new Error(`${option} wants a whole number up to ${most}`);
}

async function main(words) {
  const port = numberOf(words, '--port', 8080, 65535);
  const rounds = numberOf(words, '--rounds', 10, 10_000);
  const [data] = words;
  if (words.length > 1) throw new Error('node serve.mjs [FOLDER] [--port N] [--rounds N]');
  if (data !== undefined && !(existsSync(data) && statSync(data).isDirectory())) throw new Error(`${data} is no folder`);
  execFileSync(process.execPath, [join(here, 'build.mjs')], {stdio: 'inherit'});
  const bundled = mkdtempSync(join(os.tmpdir(), 'examples-'));
  const outfile = join(bundled, 'server.mjs');
  await bundle({entryPoints: [join(here, 'federate/server.ts')], platform: 'node', format: 'esm', outfile});
  const {federation} = await import(pathToFileURL(outfile).href);
  rmSync(bundled, {recursive: true});
  const handlers = {'/federation/': federation({rounds}).answer, ...(data === undefined ? {} : {'/data/': folderHandler(data)})};
  const {address} = await serve(dist, port, handlers);
  process.stdout.write(`The examples are at ${address} (Ctrl+C ends it)\n`);
  if (data === undefined) process.stdout.write('Pages that want models or data ask for files; make examples ARGS=FOLDER serves those of a folder.\n');
}

try {
  await main(process.argv.slice(2));
} catch (problem) {
  process.stderr.write(`serve: ${problem.code === 'EADDRINUSE' ? 'the port is taken: give another --port' : problem.message}\n`);
  process.exitCode = 1;
}
