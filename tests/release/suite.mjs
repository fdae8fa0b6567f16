// `make release`: what it writes of packages and sources, with notes, a bill of materials and sums that fit. The native archive and the wheel are
// written by the steps that tests/install and tests/python test.
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {notesOf} from '../../tools/release/notes.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-release-test-'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));
const tally = new Tally();
const out = path.join(work, 'release');
const script = path.join(root, 'tools/release/release.mjs');
const {version} = JSON.parse(readFileSync(path.join(root, 'web/runtime/package.json'), 'utf8'));

const {status, stdout, stderr} = spawnSync(process.execPath, [script, '--only', 'npm,source', '--out', out], {encoding: 'utf8', timeout: 300_000});
tally.record('a release is written', status === 0 ? [] : stdout + stderr);
if (status !== 0) tally.end();

const packages = readdirSync(path.join(out, 'npm'));
const published = readdirSync(path.join(root, 'web')).filter((name) => {
  try {
    return !JSON.parse(readFileSync(path.join(root, 'web', name, 'package.json'), 'utf8')).private;
  } catch {
    return false;
  }
});
tally.record('every package that is not private', packages.sort().join() === published.map((name) => `gossamer-${name}-${version}.tgz`).sort().join() ? [] : packages.join());
const listed = execFileSync('tar', ['-tzf', path.join(out, 'npm', `gossamer-cli-${version}.tgz`)], {encoding: 'utf8'});
tally.record('the command is in its package', listed.includes('package/dist/gossamer.js') && listed.includes('package/LICENSE') ? [] : listed);
const sources = execFileSync('tar', ['-tJf', path.join(out, `gossamer-${version}.tar.xz`)], {encoding: 'utf8', maxBuffer: 1 << 26}).split('\n');
tally.record('sources are those of the commit', sources.includes(`gossamer-${version}/CMakeLists.txt`) && !sources.some((file) => /node_modules|third_party\/cache/.test(file)) ? [] : sources.slice(0, 5).join());
const sums = spawnSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], {cwd: out, encoding: 'utf8'});
const named = readFileSync(path.join(out, 'SHA256SUMS'), 'utf8').trim().split('\n').length;
tally.record('sums', sums.status === 0 && named === packages.length + 3 ? [] : `${sums.stdout}${named} files`);
const {bomFormat, components} = JSON.parse(readFileSync(path.join(out, 'bill-of-materials.json'), 'utf8'));
const lacking = ['nanopb', 'RapidJSON', '@huggingface/jinja', '@huggingface/tokenizers', 'commander', 'pngjs', 'jpeg-js', '@dagrejs/dagre', 'ws'].filter((name) => !components.some((each) => each.name === name && each.version && each.purl));
tally.record('the bill of materials', [...(bomFormat === 'CycloneDX' ? [] : [String(bomFormat)]), ...lacking.map((name) => `lacks ${name}`)]);
tally.record('notes', readFileSync(path.join(out, 'NOTES.md'), 'utf8').startsWith(`# Gossamer ${version}\n\n`) ? [] : 'they have no title');

const changelog = '# Changelog\n\n## [Unreleased]\n\n- next\n\n## [1.2.0] - 2027-01-01\n\n- this\n\n## [1.1.0]\n\n- before\n\n[1.2.0]: https://example.com\n';
tally.record('notes of a version', notesOf(changelog, '1.2.0') === '# Gossamer 1.2.0\n\n- this\n' ? [] : notesOf(changelog, '1.2.0'));
tally.record('notes of what comes next', notesOf(changelog, '1.3.0') === '# Gossamer 1.3.0\n\n- next\n' ? [] : notesOf(changelog, '1.3.0'));
const wrong = spawnSync(process.execPath, [script, '--only', 'windows', '--out', out], {encoding: 'utf8'});
tally.record('a part that does not exist', wrong.status === 2 && wrong.stderr.includes('windows') ? [] : wrong.stderr);
tally.end();
