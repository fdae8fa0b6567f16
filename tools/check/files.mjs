// Checks on every text file: length, names that say nothing, paths and hosts of one machine.
import {allFiles, read} from './repository.mjs';

const code = /\.(cc|h|def|c|ts|mjs|js|py|sh|cmake)$|(^|\/)(Makefile|CMakeLists\.txt)$/;
const text = /\.(cc|h|def|c|ts|mjs|js|json|py|sh|cmake|md|txt|html|css|test)$|(^|\/)(Makefile|\.ci\/run)$/;
const maxLines = 800;

export function checkLengths() {
  return allFiles()
    .filter((file) => code.test(file))
    .map((file) => [file, read(file).split('\n').length - 1])
    .filter(([, lines]) => lines > maxLines)
    .map(([file, lines]) => `${file}: ${lines} lines, at most ${maxLines}: split it by subject`);
}

export function checkNames() {
  const empty = /^(utils?|commons?|helpers?|managers?|misc)([._-]|$)/i;
  return allFiles()
    .filter((file) => file.split('/').some((part) => empty.test(part)))
    .map((file) => `${file}: the name says nothing of what is inside`);
}

// The patterns are spelled so that this file does not contain what it looks for.
const foreign = [
  [new RegExp('(^|[^.\\w])/(work|home|root|Users)/\\w'), 'a path of one machine'],
  [new RegExp('(registry\\.npm' + 'js|deb\\.deb' + 'ian|files\\.python' + 'hosted)\\.org'), 'a registry host'],
];

export function checkMachines() {
  const problems = [];
  for (const file of allFiles()) {
    if (!text.test(file)) continue;
    read(file)
      .split('\n')
      .forEach((line, index) => {
        for (const [pattern, what] of foreign) {
          if (pattern.test(line)) problems.push(`${file}:${index + 1}: ${what}`);
        }
      });
  }
  return problems;
}

// The optional folder next to the checkout, spelled so that this file does not match.
const sharedFolder = new RegExp('\\.\\./sha' + 'red(?![\\w.])|shared/test' + 'data|[\'"]shared[\'"]\\s*[/,]\\s*[\'"]test' + 'data');
const accessor = 'tests/shared.txt';

/** Only the accessor may name the shared folder, so that GOSSAMER_SHARED=none hides it from every suite. */
export function checkShared(files = allFiles(), textOf = read) {
  return files
    .filter((file) => code.test(file))
    .flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, index) => (sharedFolder.test(line)
          ? [`${file}:${index + 1}: names the shared folder; use shared() or testdata() of tests/shared.mjs, which read ${accessor}`]
          : [])));
}
