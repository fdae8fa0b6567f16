// Files that several suites need and that are made once.
import {existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';

/** Whether the process that made a lock was killed. */
function isAbandoned(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return false;
  } catch (problem) {
    return problem.code === 'ESRCH';
  }
}

/**
 * A folder whose content `make(part)` writes, unless it is there and was made for the same `key`. Suites run at the same
 * time: one of them makes it, and the others wait. An interrupted run leaves nothing that looks complete.
 */
export function once(folder, key, make) {
  const stamp = path.join(folder, 'made');
  const made = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === key;
  if (made()) return folder;
  const lock = `${folder}.lock`;
  mkdirSync(path.dirname(folder), {recursive: true});
  for (const end = Date.now() + 900_000; ; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)) {
    try {
      writeFileSync(lock, String(process.pid), {flag: 'wx'});
      break;
    } catch (problem) {
      if (problem.code !== 'EEXIST' || Date.now() > end) throw problem;
      if (made()) return folder;
      if (isAbandoned(lock)) rmSync(lock, {force: true});
    }
  }
  const part = `${folder}.part.${process.pid}`;
  try {
    if (made()) return folder;
    make(part);
    writeFileSync(path.join(part, 'made'), key);
    rmSync(folder, {recursive: true, force: true});
    renameSync(part, folder);
    return folder;
  } finally {
    rmSync(part, {recursive: true, force: true});
    rmSync(lock, {force: true});
  }
}
