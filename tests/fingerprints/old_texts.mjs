// Recreates the texts of the kernels in the list of fingerprints when the build folder does not have them: builds the
// commit that last changed the list in a worktree and compiles the models with it.
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, rmSync, symlinkSync} from 'node:fs';
import path from 'node:path';
import {LIST} from './list.mjs';

/** The commit of the list's last update; undefined without a history. */
export function lastUpdate(root) {
  try {
    return execFileSync('git', ['log', '-1', '--format=%H', '--', LIST], {cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}).trim() || undefined;
  } catch {
    return undefined;
  }
}

// Options for the same compilers as this build's.
function cmakeOptions(build) {
  const cache = readFileSync(path.join(build, 'CMakeCache.txt'), 'utf8');
  return [...cache.matchAll(/^(CMAKE_BUILD_TYPE|CMAKE_C_COMPILER|CMAKE_CXX_COMPILER):\w+=(.+)$/gm)].map(([, name, value]) => `-D${name}=${value}`);
}

/** Builds `commit` in a folder of `work` and writes the texts of its packages to `texts`. Throws if that fails. */
export function makeOldTexts({root, build, work, texts, commit, jobs}) {
  const tree = path.join(work, 'before');
  const run = (program, args, cwd = tree) =>
    execFileSync(program, args, {cwd, stdio: ['ignore', 'ignore', 'inherit'], env: {...process.env, CCACHE_BASEDIR: tree, CCACHE_NOHASHDIR: '1', GOSSAMER_BUILD: 'build'}});
  const drop = () => {
    rmSync(tree, {recursive: true, force: true});
    run('git', ['worktree', 'prune'], root);
  };
  drop();
  mkdirSync(work, {recursive: true});
  try {
    run('git', ['worktree', 'add', '--quiet', '--detach', tree, commit], root);
    const cache = path.join(root, 'third_party/cache');
    mkdirSync(path.join(tree, 'third_party'), {recursive: true});
    if (existsSync(cache)) symlinkSync(cache, path.join(tree, 'third_party/cache'));
    run('cmake', ['-G', 'Ninja', '-B', 'build', ...cmakeOptions(build), '.']);
    run('cmake', ['--build', 'build', '-j', jobs, '--target', 'fingerprint', 'graph_fuzz']);
    run(process.execPath, ['tests/fingerprints/suite.mjs', '--jobs', jobs, '--write-texts', texts]);
  } finally {
    drop();
  }
}
