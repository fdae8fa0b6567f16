// README's first command, as somebody types it who has built everything: every target reads the digits, the page reads them too, and what
// the landing page links is there.
//
//   node tests/demo/suite.mjs
import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
const tally = new Tally();

const {status, stdout = '', stderr = ''} = spawnSync('node', ['tools/demo/demo.mjs', '--build', build], {cwd: root, encoding: 'utf8', timeout: 900_000});
const said = `${stdout}\n${stderr}`;
tally.record('the demo ends well', status === 0 ? [] : said.slice(-2000));
for (const target of ['cpu', 'wasm', 'webgl', 'webgpu']) {
  tally.record(`${target} reads all digits`, new RegExp(`^${target} +10 of 10 +[\\d.]+ `, 'm').test(stdout) ? [] : said.slice(0, 1000));
  if (target === 'cpu') continue;
  tally.record(`the page reads all digits on ${target}`, stdout.includes(`the page reads 10 of its 10 samples right on ${target}`) ? [] : said.slice(-1000));
}
const landing = path.join(build, 'demo/index.html');
const links = existsSync(landing) ? [...readFileSync(landing, 'utf8').matchAll(/href="([^":#]+)"/g)].map(([, href]) => href) : [];
tally.record('the landing page has links', links.length >= 3 ? [] : links.join());
for (const href of links) {
  const file = path.join(build, 'demo', href.endsWith('/') ? `${href}index.html` : href);
  tally.record(`${href} is there`, existsSync(file) ? [] : file);
}
tally.end();
