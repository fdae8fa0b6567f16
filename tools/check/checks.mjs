// The checks of the sources, in groups that run at the same time; the last line is 'N passed, N failed'.
//
//   node tools/check/checks.mjs GROUP [--changed]      --changed: only files that the working tree changes, where that is enough
import {spawnSync} from 'node:child_process';
import {readdirSync} from 'node:fs';
import path from 'node:path';
import {checkCircles} from './circles.mjs';
import {checkCommits} from './commits.mjs';
import {checkLengths, checkMachines, checkNames, checkShared} from './files.mjs';
import {checkLayers, checkPicture} from './layers.mjs';
import {checkOperators} from './operators.mjs';
import {checkOperatorsPage} from './operators_page.mjs';
import {checkManifest} from './manifest.mjs';
import {allFiles, changedFiles, report, root} from './repository.mjs';
import {checkFormat, checkTidy} from './style.mjs';
import {counted} from './summary.mjs';
import {checkUnread} from './unread.mjs';
import {checkVersion} from './version.mjs';
import {Tally} from '../../tests/tally.mjs';

function npmScript(script) {
  const {status, stdout, stderr, error} = spawnSync('npm', ['run', '--silent', script], {cwd: path.join(root, 'web'), encoding: 'utf8'});
  return status === 0 ? [] : [`npm run ${script} in web/: ${error?.message ?? stdout + stderr}`];
}

const inWeb = (check) => (files) => (files.some((file) => file.startsWith('web/')) ? check() : []);

/** By group and name; each takes the files to look at and gives its problems. */
export const checkGroups = {
  sources: {
    'include order': () => checkLayers(),
    'layer picture': () => checkPicture(),
    'no include circles': () => checkCircles(),
    'operator names': () => checkOperators(),
    'operators page': () => checkOperatorsPage(),
    manifest: () => checkManifest(),
    'file length': () => checkLengths(),
    'file names': () => checkNames(),
    'machine paths': () => checkMachines(),
    'shared folder': () => checkShared(),
    'version and licence': () => checkVersion(),
    commits: () => checkCommits(),
    'nothing unread': () => checkUnread(),
    'clang-format': (files) => checkFormat(files),
  },
  'clang-tidy': {'clang-tidy (changed files)': () => checkTidy()},
  typecheck: {'web typecheck': inWeb(() => npmScript('typecheck'))},
  lint: {'web lint': inWeb(() => npmScript('lint'))},
  tools: {},
};

/** node:test files of the tools, whose tests count one by one. */
function testTools(tally) {
  const files = ['tools/check', 'tools/demo', 'bench/tests'].flatMap((folder) =>
    readdirSync(path.join(root, folder)).filter((file) => file.endsWith('_test.mjs')).map((file) => `${folder}/${file}`));
  const {status, stdout, stderr} = spawnSync(process.execPath, ['--test', ...files], {cwd: root, encoding: 'utf8', maxBuffer: 1 << 26});
  const {passed, failed, skipped, problem} = counted({code: status ?? 1, output: stdout});
  if (failed > 0) console.log(stdout + stderr);
  if (problem) console.log(`FAIL  tests of the tools: ${problem}`);
  tally.passed += passed;
  tally.failed += failed;
  tally.skipped += skipped;
}

if (process.argv[1] === import.meta.filename) {
  const [group, option] = process.argv.slice(2);
  if (!checkGroups[group]) throw new Error(`there is no group "${group}": ${Object.keys(checkGroups).join(', ')}`);
  const files = option === '--changed' ? changedFiles() : allFiles();
  const tally = new Tally();
  for (const [name, check] of Object.entries(checkGroups[group])) {
    const good = report(name, check(files));
    if (good === undefined) tally.skipped++;
    else if (good) tally.passed++;
    else tally.failed++;
  }
  if (group === 'tools') testTools(tally);
  tally.end();
}
