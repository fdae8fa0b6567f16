/** Errors whose stack begins at the line of the user's code. */
const [own = ''] = import.meta.url.split('?');
/** This file, and those of the published bundle. */
const OWN = [own, new URL('chunk-', own).href, new URL('tensor.js', own).href, new URL('torch.js', own).href];

/** More frames than an operation has between the user's call and where it fails. */
const DEPTH = 50;

/** What `make` makes, without frames of this library, unless the user's code is in the same file. */
export function atCaller<Problem extends Error>(make: () => Problem): Problem {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = DEPTH;
  const problem = make();
  Error.stackTraceLimit = limit;
  const lines = (problem.stack ?? '').split('\n');
  const others = lines.filter((line) => !OWN.some((each) => line.includes(each)));
  if (others.some((line) => /:\d+:\d+\)?$/.test(line) && !line.includes('node:'))) problem.stack = others.join('\n');
  return problem;
}
