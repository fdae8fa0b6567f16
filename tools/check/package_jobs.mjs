// Jobs that the middle of the compiler reaches through packages alone. Schedules, passes and code generators turn a program
// into kernels and do nothing else. If their code changes and all packages of tests/fingerprints and tests/cases (the evidence,
// some ten thousand packages) are as before, these jobs are kept. A package that only such a job compiles may have changed all the
// same: a fresh clone and `make test ARGS=--all` run everything.
import {hashOf} from './verdicts.mjs';

const MIDDLE = ['schedule', 'passes', 'codegen'];

/** Whether a static library (libgossamer_NAME.a) is of the middle. */
export const isMiddle = (library) => MIDDLE.some((layer) => new RegExp(`^libgossamer_${layer}(_\\w+)?\\.a$`).test(library));

/** Whether a C++ source is of the middle. */
export const isMiddleSource = (file) => MIDDLE.some((layer) => file.startsWith(`src/${layer}/`));

/** The jobs that compile the packages by which the middle is judged. */
export const givesEvidence = ({name}) => /^tests\/(cases|fingerprints)\//.test(name);

// What judges the compiler's own work is not here: its size, its time, its messages, its search, models made to break it.
const SUITES = ['component', 'demo', 'gpu_imports', 'libraries', 'models', 'npm', 'pages', 'profile', 'python', 'rpc', 'runtimes',
  'serve', 'stored_packages', 'transformersjs', 'wasm_native', 'webgl_native', 'webgpu_native'];

/** Whether a job uses what the middle makes and nothing else of it. */
export const usesPackages = ({name, alone}) =>
  !alone && (SUITES.includes(/^tests\/(\w+)\/suite/.exec(name)?.[1]) || /^web\/(?!compiler\/)/.test(name));

/**
 * A hash of the packages that an evidence job has seen pass; undefined if it does not tell. `log`: the lines that `gossamer test`
 * wrote to $GOSSAMER_VERDICTS_SEEN, a package each. Packages with fingerprints are those of the list.
 */
export function packagesSeen({name}, log, list) {
  if (name.startsWith('tests/fingerprints/')) return hashOf(list);
  const seen = new Set(log.split('\n').filter(Boolean));
  return seen.size > 0 ? hashOf([...seen].sort()) : undefined;
}
