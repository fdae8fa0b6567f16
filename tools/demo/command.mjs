// Runs the command line and reads what it says.
import {spawn} from 'node:child_process';
import {readdirSync, statSync} from 'node:fs';
import path from 'node:path';

/** What a program prints; rejects with its complaint, or after so many seconds. */
export function output(program, words, {seconds = 300, input} = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, {stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe']});
    let [said, complained] = ['', ''];
    const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
    child.stdout.on('data', (data) => (said += data));
    child.stderr.on('data', (data) => (complained += data));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(said);
      else reject(new Error(complained.trim().split('\n').slice(-20).join('\n') || `${program} ended by ${signal ?? code}`));
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Bytes of the files in a package's folder. */
export const bytesOf = (folder) =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);

/** Rows of words as lines; the first row is the heading, columns of numbers are right-aligned. */
export function tableText(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const numeric = widths.map((_, column) => rows.slice(1).every((row) => /^[\d–]/.test(row[column])));
  const line = (row) =>
    row.map((word, at) => (numeric[at] ? word.padStart(widths[at]) : word.padEnd(widths[at]))).join('   ');
  const rule = widths.map((width) => '-'.repeat(width)).join('   ');
  return [line(rows[0]), rule, ...rows.slice(1).map(line)].map((text) => text.trimEnd()).join('\n');
}
