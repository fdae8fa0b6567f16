// Jobs of `make test` whose inputs are the same as when they passed are not run again. The inputs of a job are the programs
// that it tests, the files of the repository that it may read and that are not compiled into a program, and the machine.
import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {shared} from '../../tests/shared.mjs';
import {codeOf} from './code.mjs';
import {readFiles} from './read_files.mjs';
import {root} from './repository.mjs';
import {hashOf, machine} from './verdicts.mjs';

/** C++ sources that are only read to compile programs, whose bytes are hashed instead. tests/packages reads runtime/. */
export const isCompiled = (file) => /^(src|serve|rpc|net|tools\/gossamer|web\/compiler\/(native|tuner))\/.*\.(cc|h)$/.test(file);

// Checks that read what git knows, too. What measures time always runs.
const readsHistory = ({name}) => /^checks: (?!typecheck|lint)/.test(name);

// Suites that compile C++ sources, or read all of them.
const readsSources = ({name}) => /^tests\/(python|install)\//.test(name);

/** What suites use of the build folder, where it is not `gossamer`, its libraries and the programs of tests. No other file of it is named there. */
export const USED = {
  'tests/packages': ['tests/packages/package_loader', ...['runtime', 'package', 'ir', 'base'].map((name) => `libgossamer_${name}.a`)],
};

/** Whether the bundle of a test of the npm workspaces uses the compiler; its pages may be bundled when it runs. */
const usesCompiler = (bundle) => /compiler(\/dist|\.wasm)|build\/gossamer|\/dist\/|examples\/build/.test(readFileSync(bundle, 'utf8'));

const filesIn = (folder, pattern) =>
  (existsSync(folder) ? readdirSync(folder, {withFileTypes: true}) : []).filter((entry) => entry.isFile() && pattern.test(entry.name)).map(({name}) => path.join(folder, name)).sort();

const once = (make) => {
  let made;
  return () => (made ??= make());
};

/** Gives keyOf(job), which is undefined for jobs that always run. */
export function jobKeys(build) {
  const codes = new Map();
  const hashOfCode = (program) => codes.get(program) ?? codes.set(program, hashOf(codeOf(program))).get(program);
  const hashes = new Map();
  const hashOfFile = (file) => hashes.get(file) ?? hashes.set(file, hashOf(readFileSync(path.join(root, file)))).get(file);
  const filesOf = once(() => readFiles());
  const repository = (job) => hashOf(...filesOf()(job).filter((file) => readsSources(job) || !isCompiled(file)).flatMap((file) => [file, hashOfFile(file)]));
  const existing = (files) => files.filter((file) => existsSync(file)).flatMap((file) => [path.relative(build, file), hashOfCode(file)]);
  const native = once(() => hashOf(...existing([path.join(build, 'gossamer'), ...filesIn(path.join(build, 'lib'), /\.so/),
    ...(existsSync(path.join(build, 'tests')) ? readdirSync(path.join(build, 'tests')) : []).sort().flatMap((name) => filesIn(path.join(build, 'tests', name), /^\w+$/))])));
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
  return (job) => {
    if (job.alone || readsHistory(job)) return undefined;
    const workspace = job.name.startsWith('web/');
    const used = USED[path.dirname(job.name.split(' ')[0])];
    const own = /^(gossamer|tests)_/.test(job.name) ? [hashOfCode(job.program), /^gossamer_(?!api|command|library)/.test(job.name) ? '' : native()]
      : workspace ? (usesCompiler(job.args.at(-1)) ? [wasm(), native()] : [])
      : job.name.startsWith('checks: ') ? []
      : used ? existing(used.map((file) => path.join(build, file))) : [wasm(), native()];
    return hashOf(environment(), repository(job), job.args.filter((word) => !path.isAbsolute(word)), job.env ?? {}, job.usesShared && job.env?.GOSSAMER_SHARED !== 'none' ? sharedFiles() : '', ...own);
  };
}

/** What is kept of jobs that passed, in a file: {take(job), put(job, counts)}. `all`: nothing is taken. */
export function keptJobs(file, keyOf, {all = false} = {}) {
  let kept = {};
  try {
    kept = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // There is none, or it is damaged.
  }
  return {
    /** The counts of the job if it passed with the same inputs. */
    take(job) {
      const found = all ? undefined : kept[job.name];
      return found && found.key === keyOf(job) ? found.counts : undefined;
    },
    /** Keeps the counts of a job that passed; forgets one that did not. */
    put(job, counts) {
      const key = counts.failed === 0 && !counts.problem ? keyOf(job) : undefined;
      if (key) kept[job.name] = {key, counts};
      else delete kept[job.name];
      writeFileSync(file, JSON.stringify(kept, undefined, 1));
    },
  };
}
