// What the checks share: the repository's files, its layers, and which files a change touches.
import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

function git(...args) {
  return execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

function lines(text) {
  return text.split('\n').filter((line) => line !== '');
}

// Tracked and new files that exist, as paths from the root. Without git (an exported tree), every file.
export function allFiles() {
  try {
    return lines(git('ls-files', '--cached', '--others', '--exclude-standard')).filter((file) =>
      existsSync(path.join(root, file)),
    );
  } catch {
    const found = execFileSync('find', ['.', '-type', 'f', '-not', '-path', '*/node_modules/*'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    return lines(found)
      .map((file) => file.slice(2))
      .filter((file) => !/^(build|\.git\/|third_party\/cache)/.test(file));
  }
}

// The commit that changes are counted from: $GOSSAMER_BASE, else where this branch left the main one,
// else the last commit. On the main branch itself, and clean, that is the commit before the last.
function base() {
  if (process.env.GOSSAMER_BASE) return process.env.GOSSAMER_BASE;
  const head = git('rev-parse', 'HEAD').trim();
  let from = head;
  try {
    from = git('merge-base', 'HEAD', 'origin/HEAD').trim();
  } catch {
    // No remote.
  }
  if (from !== head || git('status', '--porcelain').trim() !== '') return from;
  try {
    return git('rev-parse', 'HEAD~1').trim();
  } catch {
    return head;
  }
}

// Files that differ from that commit, and new ones. Without git, all of them.
export function changedFiles() {
  try {
    const changed = new Set([
      ...lines(git('diff', '--name-only', '--diff-filter=d', base())),
      ...lines(git('ls-files', '--others', '--exclude-standard')),
    ]);
    return [...changed].filter((file) => existsSync(path.join(root, file)));
  } catch {
    return allFiles();
  }
}

export function read(file) {
  return readFileSync(path.join(root, file), 'utf8');
}

// The rows of cmake/layers.txt: folder → what it may see, folders or single headers.
export function layers() {
  const rows = new Map();
  for (const line of read('cmake/layers.txt').split('\n')) {
    const row = /^([a-z][^ :]*) *:(.*)$/.exec(line);
    if (row) rows.set(row[1], row[2].split(' ').filter(Boolean));
  }
  return rows;
}

// The layer that a file belongs to: the longest row that is a prefix of its path.
export function layerOf(file, rows) {
  let best;
  for (const folder of rows.keys()) {
    if (file.startsWith(`${folder}/`) && (!best || folder.length > best.length)) best = folder;
  }
  return best;
}

// Prints `[name] problem` lines and a verdict; returns whether there were none. `{skipped: reason}` instead of problems
// is no verdict: undefined.
export function report(name, problems) {
  if (problems.skipped) {
    console.log(`skip  ${name}: ${problems.skipped}`);
    return undefined;
  }
  for (const problem of problems) console.log(`[${name}] ${problem}`);
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  return problems.length === 0;
}
