// Everything that a release needs, in build/release: node tools/release/release.mjs [--only npm,native,wheel,source] [--out FOLDER]
//
//   npm/*.tgz                             the packages, as npm installs and publishes them
//   gossamer-VERSION-linux-x86_64.tar.xz  command line, libraries and headers (cmake --install)
//   gossamer-VERSION-*.whl                the Python package
//   gossamer-VERSION.tar.xz               the sources of the commit
//   NOTES.md                              the changelog of this version
//   bill-of-materials.json                what the files contain of others, in CycloneDX's form
//   SHA256SUMS
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {billOf} from './bill.mjs';
import {notesOf} from './notes.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const PARTS = ['npm', 'native', 'wheel', 'source'];
const {values} = parseArgs({options: {only: {type: 'string', default: PARTS.join(',')}, out: {type: 'string', default: path.join(root, 'build/release')}}});
const parts = values.only.split(',');
const unknown = parts.find((part) => !PARTS.includes(part));
if (unknown !== undefined) {
  console.error(`release: --only ${unknown} is none of ${PARTS.join(', ')}`);
  process.exit(2);
}
const {version} = JSON.parse(readFileSync(path.join(root, 'web/runtime/package.json'), 'utf8'));
const run = (program, words, options = {}) => execFileSync(program, words, {cwd: root, stdio: ['ignore', 'ignore', 'inherit'], ...options});

rmSync(values.out, {recursive: true, force: true});
mkdirSync(values.out, {recursive: true});
/** The same bytes for the same files: sorted, without owners, with the time of the commit. */
const archive = (file, folder, name) => {
  const time = execFileSync('git', ['log', '-1', '--format=%cI'], {cwd: root, encoding: 'utf8'}).trim();
  run('tar', ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=${time}`, '-cJf', file, '-C', folder, name]);
};

if (parts.includes('npm')) {
  const names = readdirSync(path.join(root, 'web')).filter((name) => {
    try {
      return !JSON.parse(readFileSync(path.join(root, 'web', name, 'package.json'), 'utf8')).private;
    } catch {
      return false;
    }
  });
  mkdirSync(path.join(values.out, 'npm'));
  run('npm', ['pack', '--silent', '--pack-destination', path.join(values.out, 'npm'), ...names.flatMap((name) => ['-w', name])], {cwd: path.join(root, 'web')});
}
if (parts.includes('native')) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-release-'));
  const name = `gossamer-${version}-linux-x86_64`;
  run('cmake', ['--install', 'build', '--strip', '--prefix', path.join(work, name)]);
  for (const file of ['LICENSE', 'CHANGELOG.md']) copyFileSync(path.join(root, file), path.join(work, name, file));
  archive(path.join(values.out, `${name}.tar.xz`), work, name);
  rmSync(work, {recursive: true});
}
if (parts.includes('wheel')) {
  run('tools/setup/python.sh', []);
  const folder = path.join(root, 'build-python/wheel');
  for (const file of readdirSync(folder)) copyFileSync(path.join(folder, file), path.join(values.out, file));
}
if (parts.includes('source')) run('bash', ['-euo', 'pipefail', '-c', `git archive --prefix=gossamer-${version}/ HEAD | xz > "$1"`, 'bash', path.join(values.out, `gossamer-${version}.tar.xz`)]);

writeFileSync(path.join(values.out, 'NOTES.md'), notesOf(readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8'), version));
const hashed = () => readdirSync(values.out, {recursive: true, withFileTypes: true}).filter((entry) => entry.isFile() && entry.name !== 'SHA256SUMS').map((entry) => {
  const file = path.join(entry.parentPath, entry.name);
  return {name: path.relative(values.out, file), sha256: createHash('sha256').update(readFileSync(file)).digest('hex')};
}).sort((a, b) => (a.name < b.name ? -1 : 1));
writeFileSync(path.join(values.out, 'bill-of-materials.json'), `${JSON.stringify(billOf(root, version, hashed()), undefined, 1)}\n`);
writeFileSync(path.join(values.out, 'SHA256SUMS'), hashed().map(({name, sha256}) => `${sha256}  ${name}\n`).join(''));
console.log(`${values.out}: ${hashed().length} files and SHA256SUMS`);
