// What `make test` runs, as jobs of one pool: C++ programs, npm workspaces, suites and checks.
//
// A job is {name, program, args, cwd, env, timeout, alone, usesShared, read}: read(result) counts what it ran
// (summary.mjs). `alone`: it measures time, so it runs when the others have ended. `usesShared`: it reads models and
// cases that are not part of the repository (tests/shared.mjs).
import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import path from 'node:path';
import {checkGroups} from './checks.mjs';
import {allFiles, layerOf, layers, root} from './repository.mjs';
import {counted, countedCases} from './summary.mjs';

const node = process.execPath;

/** The C++ test programs that ctest knows, of which `pattern` may choose some. */
export function programs(build, pattern = /./) {
  const {stdout} = spawnSync('ctest', ['--test-dir', build, '--show-only=json-v1'], {cwd: root, encoding: 'utf8', maxBuffer: 1 << 26});
  const shared = new Set(allFiles().filter((file) => file.endsWith('_test.cc') && read(file).includes('/testdata.h"'))
    .map((file) => programOf(file)));
  return JSON.parse(stdout).tests.filter(({name}) => pattern.test(name)).map(({name, command = [], properties = []}) => {
    const property = (wanted) => properties.find((one) => one.name === wanted)?.value;
    const env = Object.fromEntries((property('ENVIRONMENT') ?? []).map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]));
    const results = env.GTEST_OUTPUT?.replace(/^xml:/, '');
    if (results) rmSync(results, {force: true});
    return {
      name,
      program: command[0] ?? name,
      args: command.slice(1),
      cwd: property('WORKING_DIRECTORY') ?? root,
      env,
      timeout: 900,
      usesShared: shared.has(name.replace(/\.\d+$/, '')),
      read: (result) => countedCases(result, results && existsSync(results) ? readFileSync(results, 'utf8') : ''),
    };
  });
}

const read = (file) => readFileSync(path.join(root, file), 'utf8');

/** The test program that a C++ source belongs to. */
export function programOf(file, table = layers()) {
  const test = /^tests\/([^/]+)\/.*\.cc$/.exec(file);
  if (test) return `tests_${test[1]}`;
  const layer = layerOf(file, table);
  if (!layer || layer.startsWith('web/')) return undefined;
  const name = layer.replace(/^src\//, '').replace(/[^A-Za-z0-9]/g, '_');
  return layer === 'tools/gossamer' ? 'gossamer_command_test' : `gossamer_${name}_test`;
}

/** Whether a JavaScript or TypeScript file imports tests/shared.mjs, itself or through others. */
export function importsShared(file, seen = new Set()) {
  if (seen.has(file) || !existsSync(path.join(root, file))) return false;
  seen.add(file);
  if (file === 'tests/shared.mjs') return true;
  return [...read(file).matchAll(/from '(\.\.?\/[^']+)'/g)]
    .some(([, other]) => importsShared(path.join(path.dirname(file), other), seen));
}

const workspaceFolders = () => JSON.parse(read('web/package.json')).workspaces
  .filter((folder) => existsSync(path.join(root, 'web', folder, 'package.json')))
  .filter((folder) => JSON.parse(read(`web/${folder}/package.json`)).scripts?.test);

/** The tests of npm workspaces, a job for each file. Bundles them first. Files named *.timed.test.ts measure time. */
export function workspaces(chosen = workspaceFolders()) {
  return chosen.flatMap((folder) => {
    const cwd = path.join(root, 'web', folder);
    const output = execFileSync(node, [path.join(root, 'web/runtime/build/test.mjs'), '.', '--bundle-only'], {cwd, encoding: 'utf8'});
    return output.trim().split('\n').filter(Boolean).map((line) => {
      const [source, bundle] = line.split('\t');
      return {
        name: `web/${folder}/${source}`,
        program: node,
        args: ['--enable-source-maps', '--test', bundle],
        cwd,
        alone: source.includes('.timed.'),
        usesShared: importsShared(`web/${folder}/${source}`),
        read: counted,
      };
    });
  });
}

/**
 * tests/NAME/suite.{sh,mjs}. A file parts.txt next to it says how to divide it into jobs: the arguments of one on each
 * line, after 'alone ' where that job measures time. `smoke`: the first part of each alone.
 */
export function suites({smoke = false} = {}) {
  return readdirSync(path.join(root, 'tests')).sort().flatMap((folder) => {
    const scripts = ['suite.sh', 'suite.mjs'].map((file) => `tests/${folder}/${file}`).filter((file) => existsSync(path.join(root, file)));
    return scripts.flatMap((script) => {
      const file = `tests/${folder}/parts.txt`;
      const lines = existsSync(path.join(root, file)) ? read(file).trim().split('\n') : [''];
      const usesShared = script.endsWith('.mjs') && importsShared(script);
      return lines.slice(0, smoke ? 1 : lines.length).map((line) => {
        const alone = /^alone\b/.test(line);
        const args = line.replace(/^alone\b/, '').trim();
        return {
          name: args ? `${script} ${args}` : script,
          program: script.endsWith('.sh') ? 'bash' : node,
          args: [script, ...(args.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"|"$/g, ''))],
          cwd: root,
          alone,
          usesShared,
          read: counted,
        };
      });
    });
  });
}

/** The checks of sources, a job for each group. */
export function checks({onlyChanged = false} = {}) {
  return Object.keys(checkGroups).map((group) => ({
    name: `checks: ${group}`,
    program: node,
    args: ['tools/check/checks.mjs', group, ...(onlyChanged ? ['--changed'] : [])],
    cwd: root,
    timeout: 3600, // of clang-tidy, which takes half a minute for each file that changed
    read: counted,
  }));
}

/** Jobs that run again as in a clone without shared models: what uses them, a smoke share of each. */
export const withoutShared = (jobs) => jobs.filter(({usesShared}) => usesShared).map((job) => ({
  ...job,
  name: `${job.name} (without shared models)`,
  env: {...job.env, GOSSAMER_SHARED: 'none', GOSSAMER_SMOKE: '1'},
}));
