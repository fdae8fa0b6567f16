// Shows the differences of two texts side by side.
import {spawnSync} from 'node:child_process';

const WIDTH = 76; // characters per column
const LINES = 40;

const fit = (text) => (text.length > WIDTH ? `${text.slice(0, WIDTH - 3)}...` : text).padEnd(WIDTH);

/** Cuts the beginnings of two long lines that differ late, so that the difference is seen. */
function trimmed(left, right) {
  let same = 0;
  while (same < left.length && left[same] === right[same]) ++same;
  const cut = same - Math.floor(WIDTH / 3);
  return same < WIDTH - 12 || Math.max(left.length, right.length) <= WIDTH ? [left, right] : [left, right].map((text) => `...${text.slice(cut)}`);
}

function row(left, sign, right) {
  const [one, other] = sign === '|' ? trimmed(left, right) : [left, right];
  return `  ${fit(one)} ${sign} ${fit(other)}`.trimEnd();
}

/** Turns the lines of a unified hunk into rows [left, sign, right]; removed lines are paired with added ones. */
function rowsOf(hunk) {
  const rows = [];
  let [removed, added] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); ++at) {
      rows.push([removed[at] ?? '', at >= added.length ? '<' : at >= removed.length ? '>' : '|', added[at] ?? '']);
    }
    [removed, added] = [[], []];
  };
  for (const line of hunk) {
    if (line.startsWith('-')) removed.push(line.slice(1));
    else if (line.startsWith('+')) added.push(line.slice(1));
    else if (line.startsWith(' ')) {
      flush();
      rows.push([line.slice(1), ' ', line.slice(1)]);
    }
  }
  flush();
  return rows;
}

/** The differences of two files with some context, cut after `most` lines. */
export function sideBySide(before, after, most = LINES) {
  const {stdout} = spawnSync('diff', ['-U', '3', before, after], {encoding: 'utf8', maxBuffer: 1 << 28});
  const lines = [row('before', ' ', 'now')];
  const hunks = stdout.replaceAll('\t', '  ').split(/^@@ -(\d+).*@@.*\n/m).slice(1);
  for (let at = 0; at < hunks.length; at += 2) {
    lines.push(row(`line ${hunks[at]}:`, ' ', ''));
    for (const each of rowsOf(hunks[at + 1].split('\n'))) lines.push(row(...each));
  }
  const more = lines.length - most;
  return more > 1 ? [...lines.slice(0, most), `  ... and ${more} more lines`] : lines;
}
