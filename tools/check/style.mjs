// clang-format over every C++ source, clang-tidy over changed ones.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {commandsOfSources} from './compile_commands.mjs';
import {allFiles, changedFiles, root} from './repository.mjs';

function run(program, args) {
  return spawnSync(program, args, {cwd: root, encoding: 'utf8', maxBuffer: 64 << 20});
}

export function checkFormat(files = allFiles()) {
  const sources = files.filter((file) => /\.(cc|h)$/.test(file));
  if (sources.length === 0) return [];
  const {error, stderr} = run('clang-format-19', ['--dry-run', ...sources]);
  if (error) return [`clang-format-19: ${error.message}`];
  const bad = new Set([...stderr.matchAll(/^(.+?):\d+:\d+: warning: code should be/gm)].map((m) => m[1]));
  return [...bad].map((file) => `${file}: not formatted: make format`);
}

// The folder of a database of compilations of single sources, with nothing read before them.
function databaseOfSources(build) {
  const folder = path.join(root, build, 'tidy');
  mkdirSync(folder, {recursive: true});
  const commands = commandsOfSources(path.join(root, build));
  for (const entry of commands) entry.command = entry.command.replace(/ -include-pch \S+/, '');
  writeFileSync(path.join(folder, 'compile_commands.json'), JSON.stringify(commands));
  return folder;
}

export function checkTidy() {
  const build = process.env.GOSSAMER_BUILD ?? 'build';
  if (!existsSync(path.join(root, build, 'compile_commands.json'))) {
    return [`${build}/compile_commands.json is missing: make native`];
  }
  const sources = changedFiles().filter((file) => /^(src|runtime)\/.*\.cc$/.test(file));
  if (sources.length === 0) return [];
  const jobs = String(os.availableParallelism());
  // run-clang-tidy takes regular expressions over absolute paths.
  const patterns = sources.map((file) => `/${file.replace(/[.+]/g, '\\$&')}$`);
  const database = databaseOfSources(build);
  const {error, stdout} = run('run-clang-tidy-19', ['-quiet', '-j', jobs, '-p', database, ...patterns]);
  if (error) return [`run-clang-tidy-19: ${error.message}`];
  return [...new Set(stdout.split('\n').filter((line) => /: (warning|error): /.test(line)))].map((line) =>
    line.replace(`${root}/`, ''),
  );
}
