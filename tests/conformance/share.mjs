// The conformance cases that `make test` runs on a configuration, against known.tsv: what is not listed must pass, what
// is listed must not. `make conformance` (run.mjs) runs all of them.
import {allCases, excused, foldersOf, packageSuite, presentSuites, readList, sample, suiteOf, suites, twinOf} from './conformance.mjs';

// Drivers in software compile each kernel for seconds.
const few = 30;
const software = new Set(['opencl', 'opengl', 'opengl es31', 'webgpu native', 'webgl native', 'cpu avx2', 'cpu sse']);
// A case that does not end would cost its whole time limit on each target at every make test.
const endless = /^does not end/;

/** `count` of them, spread evenly. */
const spread = (names, count) => (names.length <= count ? names : Array.from({length: count}, (_, at) => names[Math.floor((at * names.length) / count)]));

/** What `make test` runs of `names` on a configuration: a few where the driver is software, else all. */
export const shareOf = (names, configuration) => (software.has(configuration) ? spread(names, few) : names);

let found; // of all configurations of a run

async function every(tally) {
  const {list, problems} = readList();
  for (const problem of problems) tally.record('known.tsv', problem);
  const present = presentSuites(suites, ({name}, reason) => tally.skip(name, reason));
  if (present.length === 0) return {list, present, cases: []};
  const all = await allCases(present);
  const names = new Set(all.map(({name}) => name));
  if (present.length === suites.length)
    for (const name of list.keys()) if (!names.has(name)) tally.record('known.tsv', `there is no case ${name}`);
  // A case that is in the shared test data as well runs once.
  return {list, present, cases: all.filter(({name}) => suiteOf(name) !== packageSuite || !names.has(twinOf(name)))};
}

/** tests/cases/suite.mjs has the contract. */
export async function planFor(configuration, {all, tally}) {
  if (configuration.endsWith(' mobile')) return undefined; // the catalog's and random graphs cover those limits
  const [target] = configuration.split(' ');
  found ??= await every(tally);
  const {list, present, cases} = found;
  const possible = (all ? cases.map(({name}) => name) : sample(cases)).filter((name) => !endless.test(excused(list, name, target) ?? ''));
  return {
    folders: foldersOf(present),
    names: all ? possible : shareOf(possible, configuration),
    judge({name, status, message}) {
      const reason = excused(list, name, target);
      if (status === 'pass') return reason && 'passes: take it off tests/conformance/known.tsv';
      return !reason && (message || status);
    },
  };
}
