// Jobs of `make test` whose inputs are the same as when they passed are not run again. The inputs of a job are the program
// that it tests, the files of the repository that are not compiled into a program, and the machine.
import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {shared} from '../../tests/shared.mjs';
import {allFiles, root} from './repository.mjs';
import {hashOf, machine} from './verdicts.mjs';

/** C++ sources that are only read to compile programs, whose bytes are hashed instead. tests/packages reads runtime/. */
export const isCompiled = (file) => /^(src|serve|rpc|net|tools\/gossamer|web\/compiler\/(native|tuner))\/.*\.(cc|h)$/.test(file);

// Jobs that compile C++ sources, or read all files. What measures time always runs.
const readsSources = ({name}) => /^(checks: (?!typecheck|lint)|tests\/(python|install)\/)/.test(name);

/** Whether the bundle of a test of the npm workspaces uses the compiler; its pages may be bundled when it runs. */
const usesCompiler = (bundle) => /compiler(\/dist|\.wasm)|build\/gossamer|\/dist\/|examples\/build/.test(readFileSync(bundle, 'utf8'));

/** The bytes of a program without what differs although the code is the same: debug information and the number of the build. */
export function codeOf(program) {
  const to = path.join(os.tmpdir(), `gossamer-code-${process.pid}`);
  try {
    const {status} = spawnSync('objcopy', ['--strip-debug', '--remove-section=.note.gnu.build-id', program, to]);
    return readFileSync(status === 0 ? to : program);
  } finally {
    rmSync(to, {force: true});
  }
}

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
  const hashFiles = (files) => hashOf(...files.flatMap((file) => [file, readFileSync(path.join(root, file))]));
  const repository = once(() => hashFiles(allFiles().filter((file) => !isCompiled(file))));
  const native = once(() => hashOf(...[path.join(build, 'gossamer'), ...filesIn(path.join(build, 'lib'), /\.so/),
    ...(existsSync(path.join(build, 'tests')) ? readdirSync(path.join(build, 'tests')) : []).sort().flatMap((name) => filesIn(path.join(build, 'tests', name), /^\w+$/))]
    .filter((file) => existsSync(file)).flatMap((file) => [path.relative(build, file), hashOfCode(file)])));
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
    if (job.alone || readsSources(job)) return undefined;
    const workspace = job.name.startsWith('web/');
    const own = /^(gossamer|tests)_/.test(job.name) ? [hashOfCode(job.program), /^gossamer_(?!api|command|library)/.test(job.name) ? '' : native()]
      : workspace ? (usesCompiler(job.args.at(-1)) ? [wasm(), native()] : [])
      : job.name.startsWith('checks: ') ? [] : [wasm(), native()];
    return hashOf(environment(), repository(), job.args.filter((word) => !path.isAbsolute(word)), job.env ?? {}, job.usesShared && job.env?.GOSSAMER_SHARED !== 'none' ? sharedFiles() : '', ...own);
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
