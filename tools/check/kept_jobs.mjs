// Jobs of `make test` whose inputs are the same as when they passed are not run again. The inputs of a job are the programs
// that it tests, the files of the repository that it may read and that are not compiled into a program, and the machine.
import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {shared} from '../../tests/shared.mjs';
import {codeOf} from './code.mjs';
import {givesEvidence, isMiddle, isMiddleSource, isWayIn, packagesSeen, usesPackages} from './package_jobs.mjs';
import {readFiles} from './read_files.mjs';
import {root} from './repository.mjs';
import {hashOf, machine} from './verdicts.mjs';

/** C++ sources that are only read to compile programs, whose bytes are hashed instead. */
export const isCompiled = (file) => /^(src|serve|rpc|net|tools\/gossamer|web\/compiler\/(native|tuner))\/.*\.(cc|h)$/.test(file);

// Checks that read what git knows, too. What measures time always runs.
const readsHistory = ({name}) => /^checks: (?!typecheck|lint)/.test(name);

// Suites that compile C++ sources, or read all of them.
const readsSources = ({name}) => /^tests\/(python|install)\//.test(name);

/** What suites use of the build folder, where it is not `gossamer`, its libraries and the programs of tests. No other file of it is named there. */
export const USED = {
  'tests/packages': ['tests/packages/package_loader'],
};

/** Whether the bundle of a test of the npm workspaces uses the compiler; its pages may be bundled when it runs. */
const usesCompiler = (bundle) => /compiler(\/dist|\.wasm)|build\/gossamer|\/dist\/|examples\/build/.test(readFileSync(bundle, 'utf8'));

const filesIn = (folder, pattern) =>
  (existsSync(folder) ? readdirSync(folder, {withFileTypes: true}) : []).filter((entry) => entry.isFile() && pattern.test(entry.name)).map(({name}) => path.join(folder, name)).sort();

const once = (make) => {
  let made;
  return () => (made ??= make());
};

/**
 * Gives keyOf(job), which is undefined for jobs that always run, and packageKeyOf(job): a key without the middle of the compiler,
 * undefined for jobs that do not use it through packages alone (package_jobs.mjs).
 */
export function jobKeys(build) {
  const codes = new Map();
  const hashOfCode = (program) => codes.get(program) ?? codes.set(program, hashOf(codeOf(program))).get(program);
  const hashes = new Map();
  const hashOfFile = (file) => hashes.get(file) ?? hashes.set(file, hashOf(readFileSync(path.join(root, file)))).get(file);
  const filesOf = once(() => readFiles());
  const repository = (job, isLeftOut = () => false) =>
    hashOf(...filesOf()(job).filter((file) => (readsSources(job) || !isCompiled(file)) && !isLeftOut(file)).flatMap((file) => [file, hashOfFile(file)]));
  const existing = (files) => files.filter((file) => existsSync(file)).flatMap((file) => [path.relative(build, file), hashOfCode(file)]);
  const native = once(() => hashOf(...existing([path.join(build, 'gossamer'), ...filesIn(path.join(build, 'lib'), /\.so/),
    ...(existsSync(path.join(build, 'tests')) ? readdirSync(path.join(build, 'tests')) : []).sort().flatMap((name) => filesIn(path.join(build, 'tests', name), /^\w+$/))])));
  // The compiler's other layers; compiler.wasm has the same sources.
  const outer = once(() => hashOf(...existing(filesIn(build, /^libgossamer_\w+\.a$/).filter((file) => !isMiddle(path.basename(file))))));
  const wasm = once(() => hashOf(...filesIn(path.join(root, 'build-wasm'), /\.wasm$/).map((file) => readFileSync(file))));
  const cache = path.join(root, 'third_party/cache');
  const environment = once(() => hashOf(machine(), process.version, existsSync('/var/lib/dpkg/status') ? readFileSync('/var/lib/dpkg/status') : '',
    existsSync(cache) ? readdirSync(cache).sort() : [],
    Object.entries(process.env).filter(([name]) => /^(GOSSAMER_|LD_|PATH$)/.test(name) && !/_(JOBS|VERDICTS)$/.test(name)).sort()));
  const sharedFiles = once(() => {
    const folder = shared(root);
    if (!existsSync(folder)) return 'none';
    return hashOf(execFileSync('find', ['-L', folder, '-type', 'f', '-printf', '%P %s %T@\n'], {maxBuffer: 1 << 28}));
  });
  const common = (job) => [environment(), job.args.filter((word) => !path.isAbsolute(word)), job.env ?? {},
    job.usesShared && job.env?.GOSSAMER_SHARED !== 'none' ? sharedFiles() : ''];
  const keyOf = (job) => {
    if (job.alone || readsHistory(job)) return undefined;
    const workspace = job.name.startsWith('web/');
    const used = USED[path.dirname(job.name.split(' ')[0])];
    const own = /^(gossamer|tests)_/.test(job.name) ? [hashOfCode(job.program), /^gossamer_(?!api|command|library)/.test(job.name) ? '' : native()]
      : workspace ? (usesCompiler(job.args.at(-1)) ? [wasm(), native()] : [])
      : job.name.startsWith('checks: ') ? []
      : used ? existing(used.map((file) => path.join(build, file))) : [wasm(), native()];
    return hashOf(...common(job), repository(job), ...own);
  };
  const packageKeyOf = (job) => (usesPackages(job) ? hashOf(...common(job), repository(job, isMiddleSource), outer()) : undefined);
  return {keyOf, packageKeyOf};
}

/**
 * What is kept of jobs that passed, in a file. `keys`: of jobKeys(). `jobs`: those of this run. `all`: nothing is taken.
 *
 *   take(job)                the counts of the job if it passed with the same inputs
 *   put(job, counts, log)    keeps the counts of a job that passed; forgets one that did not. `log`: as of packagesSeen()
 *   mayWait(job)             whether takeByPackages(job) may give its counts once all evidence has ended
 *   takeByPackages(job)      its counts if it passed with the same inputs but for the middle of the compiler, and with the same packages;
 *                            for a way in also with others that all evidence passed with, and then `time` says so
 *   end()                    to be called when all jobs have ended: keeps with which packages they passed
 */
export function keptJobs(file, keys, jobs, {all = false} = {}) {
  let kept = {};
  try {
    kept = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // There is none, or it is damaged.
  }
  const write = () => writeFileSync(file, JSON.stringify(kept, undefined, 1));
  const found = ({name}) => (all ? undefined : kept[name]);
  const passed = new Set(); // names, in this run or before with the same inputs
  const taken = ({name}) => {
    passed.add(name);
    return kept[name].counts;
  };
  // Jobs run in another order each time.
  const evidence = jobs.filter(givesEvidence).sort((a, b) => (a.name < b.name ? -1 : 1));
  const packages = () => {
    const seen = evidence.map(({name}) => passed.has(name) && kept[name].seen);
    return seen.length > 0 && seen.every(Boolean) ? hashOf(seen) : undefined;
  };
  return {
    take(job) {
      const one = found(job);
      return one && one.key === keys.keyOf(job) ? taken(job) : undefined;
    },
    put(job, counts, log = '') {
      const key = counts.failed === 0 && !counts.problem ? keys.keyOf(job) : undefined;
      if (key) {
        passed.add(job.name);
        const seen = givesEvidence(job) ? packagesSeen(job, log, readFileSync(path.join(root, 'tests/fingerprints/packages.txt'))) : undefined;
        kept[job.name] = {key, packageKey: keys.packageKeyOf(job), seen, counts};
      } else {
        delete kept[job.name];
      }
      write();
    },
    mayWait: (job) => evidence.length > 0 && found(job)?.packages !== undefined && found(job).packageKey === keys.packageKeyOf(job),
    takeByPackages(job) {
      const now = packages();
      const same = found(job).packages === now;
      if (!now || !(same || isWayIn(job))) return undefined;
      kept[job.name].key = keys.keyOf(job);
      return same ? taken(job) : {...taken(job), time: 'passed with other kernels; tests/cases passes with these'};
    },
    end() {
      const now = packages();
      if (now) for (const name of passed) if (kept[name].packageKey) kept[name].packages = now;
      write();
    },
  };
}
