// The code of programs, libraries and archives.
import {spawnSync} from 'node:child_process';
import {readFileSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The bytes of a program without what differs although the code is the same: debug information and the number of the build. */
export function codeOf(program) {
  const to = path.join(os.tmpdir(), `gossamer-code-${process.pid}`);
  try {
    const {status} = spawnSync('objcopy', ['--strip-debug', '--remove-section=.note.gnu.build-id', program, to]);
    return readFileSync(status === 0 ? to : program);
  } finally {
    rmSync(to, {force: true});
  }
}
