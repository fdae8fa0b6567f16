// Fails when the compiler makes other packages than at the last update of packages.txt. That file has a hash of each
// package and of the text of each kernel in it, for about 60 small models (models.mjs), on every target and with the
// options that change kernels. The texts are kept in build/fingerprints/texts, so that changed kernels can be shown.
//
// The hashes are the same on every machine: machine code is compared as LLVM IR before LLVM's passes, for processors that
// are named, and no driver is asked what its device can do.
//
//   node tests/fingerprints/suite.mjs [--update] [--old-texts] [--show N] [--jobs N] [--only MODEL,MODEL]
//
//   --update      writes packages.txt. The commit's body then says which kernels changed and why (tools/check/commits.mjs).
//   --old-texts   builds the commit of the last update if the old texts are missing. `make fingerprints` has this option;
//                 `make test` does not, because the build takes minutes.
//   --show N      shows N changed kernels side by side (default 3)
//   --only        compiles these models only
//   --write-texts FOLDER    writes the texts of all packages to FOLDER and compares nothing
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {jobs} from '../jobs.mjs';
import {Tally} from '../tally.mjs';
import {compareLists, LIST, parseList, printList, splitName} from './list.mjs';
import {PACKAGES, writeModels} from './models.mjs';
import {lastUpdate, makeOldTexts} from './old_texts.mjs';
import {sideBySide} from './side_by_side.mjs';

const {values: options} = parseArgs({options: {
  update: {type: 'boolean'}, 'old-texts': {type: 'boolean'}, show: {type: 'string', default: '3'},
  jobs: {type: 'string', default: jobs}, only: {type: 'string'}, 'write-texts': {type: 'string'},
}});
const root = path.resolve(import.meta.dirname, '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
const work = path.join(build, 'fingerprints');
const texts = path.resolve(options['write-texts'] ?? path.join(work, 'texts'));
const program = path.join(build, 'tests/fingerprints/fingerprint');
const list = path.join(root, LIST);
const tally = new Tally();

// LLVM is built with the code generator of its own machine only.
const hasMachineCode = ({target, options: words}) => ['cpu', 'opencl', 'opengl'].includes(target) || words.includes('side-cpu');
const skipReason = process.arch === 'x64' ? undefined : `machine code for x86-64 cannot be made on ${process.arch}`;

/** Compiles packages: {found, problems}, a map like that of parseList() and one from package to error message. */
function compile(packages) {
  mkdirSync(work, {recursive: true});
  const files = writeModels({root, build, folder: path.join(work, 'models')});
  const jobList = path.join(work, 'jobs.tsv');
  writeFileSync(jobList, packages.map(({package: name, model, target, options: words}) => `${[name, files[model], model, target, words.join(',')].join('\t')}\n`).join(''));
  const {stdout, stderr, error} = spawnSync(program, [jobList, texts, '--jobs', options.jobs], {encoding: 'utf8', maxBuffer: 1 << 28});
  if (error) throw error;
  const failed = /^(\S+) !(.*)$/gm;
  const problems = new Map([...stdout.matchAll(failed)].map(([, name, problem]) => [name, problem]));
  const found = parseList(stdout.replace(failed, ''));
  for (const {package: name} of packages) {
    if (!found.has(name) && !problems.has(name)) problems.set(name, `was not compiled: ${stderr.trim()}`);
  }
  return {found, problems};
}

/** Deletes the texts that none of these lists has: they belong to older changes. */
function removeStaleTexts(...lists) {
  const kept = new Set(lists.flatMap((each) => [...each.values()].flatMap(({parts}) => parts.map(({hash}) => hash))));
  for (const name of readdirSync(texts)) if (!kept.has(name)) rmSync(path.join(texts, name));
}

const some = (words, most = 6) => (words.length > most ? [...words.slice(0, most), `${words.length - most} more`] : words).join(', ');

/** Describes what differs in a package, in one line. */
function describe({was, is, parts}) {
  if (!was) return 'is new';
  if (!is) return 'is gone: models.mjs no longer has it';
  if (parts.length === 0) return 'differs outside kernels and manifest';
  const kinds = {
    differ: parts.filter(({before, after}) => before && after && before !== after).map(({name}) => name),
    new: parts.filter(({before}) => !before).map(({name}) => name),
    gone: parts.filter(({after}) => !after).map(({name}) => name),
    renamed: parts.filter(({renamed}) => renamed).map(({name, renamed}) => `${renamed} to ${name}`),
  };
  return Object.entries(kinds).filter(([, names]) => names.length > 0).map(([kind, names]) => `${kind}: ${some(names)}`).join('; ');
}

const textOf = (hash) => path.join(texts, hash);
const isKernel = ({name}) => name !== 'manifest' && name !== 'weights';

/** The parts whose text differs, each pair of texts once. Kernels come first, because manifests change with them. */
function changedTexts(differing) {
  const pairs = new Map();
  for (const {name: of, parts} of differing) {
    for (const part of parts) {
      if (!part.before || !part.after || part.before === part.after || part.name === 'weights') continue;
      const key = `${part.before} ${part.after}`;
      if (!pairs.has(key)) pairs.set(key, {...part, packages: []});
      pairs.get(key).packages.push(of);
    }
  }
  const all = [...pairs.values()];
  return [...all.filter(isKernel), ...all.filter((part) => !isKernel(part))];
}

function show(differing) {
  const changed = changedTexts(differing);
  const shown = changed.slice(0, Number(options.show));
  const commit = lastUpdate(root);
  if (shown.some(({before}) => !existsSync(textOf(before))) && options['old-texts'] && !options.update && commit) {
    console.log(`\nBuilding ${commit.slice(0, 12)}, the last update of ${LIST}, for the old texts ...`);
    try {
      makeOldTexts({root, build, work, texts, commit, jobs: options.jobs});
    } catch (problem) {
      console.log(`  That failed: ${problem.message}`);
    }
  }
  for (const {name, before, after, packages} of shown) {
    console.log(`\n${name} of ${some(packages, 3)}:`);
    const lines = existsSync(textOf(before)) ? sideBySide(textOf(before), textOf(after)) : [`  The old text ${before} is missing${options['old-texts'] ? '' : '; make fingerprints builds the old compiler and shows it'}.`];
    for (const line of lines) console.log(line);
  }
  if (changed.length > shown.length) console.log(`\n${changed.length - shown.length} more texts differ: --show N shows N of them.`);
}

/** Prints what changed in a few lines, for the body of the commit. */
function summarize(differing, count) {
  const names = differing.map(({name}) => splitName(name));
  const set = (key) => some([...new Set(names.map((name) => name[key]))].sort(), 12);
  const kernels = new Set(differing.flatMap(({parts}) => parts.filter(isKernel).map(({name}) => name)));
  console.log(`\n${differing.length} of ${count} packages differ. Models: ${set('model')}. Targets: ${set('target')}.`);
  if (kernels.size > 0) console.log(`Kernels: ${some([...kernels].sort(), 12)}.`);
}

/** Whether the program is built. If not, records why. */
function canRun() {
  if (existsSync(program)) return true;
  const cache = path.join(build, 'CMakeCache.txt');
  if (existsSync(cache) && /^GOSSAMER_LLVM:BOOL=OFF$/m.test(readFileSync(cache, 'utf8'))) tally.skip('fingerprints', 'this build has no LLVM');
  else tally.record('fingerprints', `${program} is missing: make fingerprints builds it`);
  return false;
}

function main() {
  const only = options.only?.split(',');
  const isChosen = (name) => !only || only.includes(splitName(name).model);
  const chosen = PACKAGES.filter(({package: name}) => isChosen(name));
  const left = chosen.filter((each) => skipReason && hasMachineCode(each)).map(({package: name}) => name);
  const packages = chosen.filter(({package: name}) => !left.includes(name));
  const started = Date.now();
  const {found, problems} = compile(packages);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  for (const [name, problem] of problems) tally.record(name, problem);
  if (options['write-texts']) return tally.record(`the texts of ${found.size} packages`);

  const before = existsSync(list) ? parseList(readFileSync(list, 'utf8')) : new Map();
  // Packages that were not compiled keep their hashes.
  for (const name of before.keys()) {
    if (!isChosen(name) || left.includes(name) || problems.has(name)) found.set(name, before.get(name));
  }
  removeStaleTexts(before, found);
  const differing = compareLists(before, found);
  if (options.update && problems.size === 0) {
    writeFileSync(list, printList(found));
    for (const each of differing) console.log(`${each.name} ${describe(each)}`);
    console.log(`${LIST} is written`);
  }
  for (const name of left) tally.skip(name, skipReason);
  const problemOf = new Map(options.update ? [] : differing.map((each) => [each.name, describe(each)]));
  for (const name of new Set([...packages.map((each) => each.package), ...problemOf.keys()])) {
    if (!problems.has(name)) tally.record(name, problemOf.get(name));
  }
  if (differing.length > 0) {
    show(differing);
    summarize(differing, found.size);
    if (!options.update) console.log("If intended: make fingerprints ARGS=--update and say in the commit's body which kernels changed and why.");
  }
  console.log(`${packages.length} packages in ${seconds} s`);
}

if (canRun()) main();
tally.end();
