// One version and one licence: CMakeLists.txt says the version, LICENSE the licence. npm wants both in every package and
// in the lock file, the changelog has a section for each release; they must agree.
import {execFileSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import path from 'node:path';
import {allFiles, read, report, root} from './repository.mjs';

const licence = 'Apache-2.0';
const ours = /^(gossamer-|@gossamer\/)/;

// `texts`: path → content, of the files below and every package.json. `printed`: what `gossamer --version` prints.
export function versionProblems(texts, printed) {
  const version = /^project\(gossamer VERSION (\d+\.\d+\.\d+)\b/m.exec(texts.get('CMakeLists.txt') ?? '')?.[1];
  if (!version) return ['CMakeLists.txt: project() has no VERSION'];
  const problems = [];
  const compare = (where, found, wanted) => {
    if (found !== wanted) problems.push(`${where}: is ${found ?? 'missing'}, not ${wanted}`);
  };
  for (const [file, text] of texts) {
    if (file.endsWith('package.json')) {
      const entry = JSON.parse(text);
      compare(`${file}: license`, entry.license, licence);
      if (entry.version !== undefined) compare(`${file}: version`, entry.version, version);
    } else if (file.endsWith('package-lock.json')) {
      for (const [place, entry] of Object.entries(JSON.parse(text).packages)) {
        if (place.includes('node_modules') || !ours.test(entry.name ?? '')) continue;
        compare(`${file}: license of "${place}"`, entry.license, licence);
        if (entry.version !== undefined) compare(`${file}: version of "${place}"`, entry.version, version);
      }
    }
  }
  if (printed !== undefined) compare('gossamer --version', printed.trim(), `gossamer ${version}`);
  if (!/Apache License\s+Version 2\.0/.test(texts.get('LICENSE') ?? '')) problems.push(`LICENSE: is not ${licence}`);
  // The newest release is this version, or this version is what the unreleased section is about.
  const changelog = texts.get('CHANGELOG.md') ?? '';
  const sections = [...changelog.matchAll(/^## \[([^\]]+)\]/gm)].map((match) => match[1]);
  const unreleased = /^## \[Unreleased\]\n([^]*?)(?=^## |(?![^]))/m.exec(changelog)?.[1] ?? '';
  if (sections.find((name) => name !== 'Unreleased') !== version && !unreleased.includes(`${version} will be`)) {
    problems.push(`CHANGELOG.md: has no section for ${version}`);
  }
  return problems;
}

export function checkVersion() {
  const files = allFiles().filter(
    (file) => /(^|\/)package(-lock)?\.json$/.test(file) || ['CMakeLists.txt', 'LICENSE', 'CHANGELOG.md'].includes(file),
  );
  const program = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
  const printed = existsSync(program) ? execFileSync(program, ['--version'], {encoding: 'utf8'}) : undefined;
  return versionProblems(new Map(files.map((file) => [file, read(file)])), printed);
}

if (process.argv[1] === import.meta.filename) {
  process.exit(report('version and licence', checkVersion()) ? 0 : 1);
}
