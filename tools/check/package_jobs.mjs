// Jobs that the middle of the compiler reaches through packages alone. Schedules, passes and code generators turn a program
// into kernels and do nothing else. If their code changes, these jobs wait for tests/fingerprints and tests/cases (the evidence,
// some ten thousand packages). They are kept if all packages there are as before. Where packages have changed and the evidence passes
// on every target, ways in are kept as well. A package that only such a job compiles may be wrong all the same: a fresh clone and
// `make test ARGS=--all` run everything.
import {hashOf} from './verdicts.mjs';

const MIDDLE = ['target', 'online', 'schedule', 'autoschedule', 'records', 'rewrite', 'layout', 'group', 'passes', 'codegen'];

/** Whether a static library (libgossamer_NAME.a) is of the middle. */
export const isMiddle = (library) => MIDDLE.some((layer) => new RegExp(`^libgossamer_${layer}(_\\w+)?\\.a$`).test(library));

/** Whether a C++ source is of the middle. */
export const isMiddleSource = (file) => MIDDLE.some((layer) => file.startsWith(`src/${layer}/`));

/** The jobs that compile the packages by which the middle is judged. */
export const givesEvidence = ({name}) => /^tests\/(cases|fingerprints)\//.test(name);

// How a model gets into a page, a process, a server or another language.
const WAYS_IN = ['component', 'demo', 'gpu_imports', 'models', 'npm', 'pages', 'profile', 'python', 'rpc', 'runtimes', 'serve', 'site',
  'stored_packages', 'transformersjs', 'verdicts'];
// Run times and uses of packages that the evidence lacks: C libraries, caches written in place, chained tokens.
const OTHERS = ['generate', 'libraries', 'state', 'wasm_native', 'webgl_native', 'webgpu_native'];
// What judges the compiler's own work is in neither: its size, its time, its messages, its search, models made to break it.

const suiteOf = (name) => /^tests\/(\w+)\/suite/.exec(name)?.[1];

/** Whether a job is about how packages are used, by run times and in ways that the evidence covers as well. */
export const isWayIn = ({name, alone}) => !alone && (WAYS_IN.includes(suiteOf(name)) || /^web\/(?!compiler\/)/.test(name));

/** Whether a job uses what the middle makes and nothing else of it. */
export const usesPackages = (job) => isWayIn(job) || (!job.alone && OTHERS.includes(suiteOf(job.name)));

/**
 * A hash of the packages that an evidence job has seen pass; undefined if it does not tell. `log`: the lines that `gossamer test`
 * wrote to $GOSSAMER_VERDICTS_SEEN, a package each. Packages with fingerprints are those of the list.
 */
export function packagesSeen({name}, log, list) {
  if (name.startsWith('tests/fingerprints/')) return hashOf(list);
  const seen = new Set(log.split('\n').filter(Boolean));
  return seen.size > 0 ? hashOf([...seen].sort()) : undefined;
}
