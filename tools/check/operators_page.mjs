// docs/operators.md is what `gossamer ops --markdown` prints. With --update, writes it.
import {execFileSync} from 'node:child_process';
import {existsSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {read, report, root} from './repository.mjs';

const page = 'docs/operators.md';

function printed() {
  const program = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
  if (!existsSync(program)) return undefined;
  return execFileSync(program, ['ops', '--markdown'], {encoding: 'utf8', maxBuffer: 64 << 20});
}

export function checkOperatorsPage() {
  const text = printed();
  if (text === undefined) return {skipped: 'gossamer is not built'};
  return existsSync(path.join(root, page)) && read(page) === text
    ? []
    : [`${page} is old: node tools/check/operators_page.mjs --update`];
}

if (process.argv[1] === import.meta.filename) {
  if (process.argv.includes('--update')) {
    const text = printed();
    if (text === undefined) throw new Error('gossamer is not built');
    writeFileSync(path.join(root, page), text);
  }
  process.exit(report('operators page', checkOperatorsPage()) === false ? 1 : 0);
}
