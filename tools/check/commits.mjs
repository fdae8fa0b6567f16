// Checks the commits after the one that added the list of fingerprints (tests/fingerprints): the form of their subjects,
// that refactorings do not change kernels, and that other commits explain the kernels that they change.
import {execFileSync} from 'node:child_process';
import {LIST, splitName} from '../../tests/fingerprints/list.mjs';
import {report, root} from './repository.mjs';

const longestSubject = 72;
const subjectForm = /^[a-z0-9.][\w./{}*+, -]*: [a-z]\S*( \S+)+$/;

export const rules = [
  `a subject is \`area: verb object\`, at most ${longestSubject} characters, without a full stop`,
  `a commit that says "refactor" does not change ${LIST}`,
  `a commit that changes packages in ${LIST} says in its body which kernels changed and why: the body has the word ` +
    '"kernel" and the name of one of the changed models or targets',
];

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const names = (text, word) => new RegExp(`(^|[^\\w-])${escaped(word)}($|[^\\w-])`, 'm').test(text);

/** The problems of a commit. `packages` are the names of the packages that it changes in the list; undefined: none. */
export function commitProblems({subject, body, packages}) {
  const problems = [];
  if (subject.length > longestSubject || !subjectForm.test(subject) || subject.endsWith('.')) {
    problems.push(`the subject "${subject}" (${subject.length} characters): ${rules[0]}`);
  }
  if (!packages) return problems;
  if (/refactor/i.test(`${subject}\n${body}`)) problems.push(`it changes ${LIST}: ${rules[1]}`);
  const words = new Set(packages.map(splitName).flatMap(({model, target}) => [model, target === 'c' ? 'C' : target]));
  if (words.size > 0 && !(/kernel/i.test(body) && [...words].some((word) => names(body, word)))) {
    const some = [...words].slice(0, 8).join(', ');
    problems.push(`it changes ${packages.length} packages (${some}${words.size > 8 ? ', ...' : ''}): ${rules[2]}`);
  }
  return problems;
}

/** Parses `git log --format=%x01%H%n%B%x02`, with or without patches, into [{hash, subject, body, packages}]. */
export function parseLog(log) {
  return log.split('\x01').slice(1).map((text) => {
    const [message, patch] = text.split('\x02');
    const [hash, subject = '', ...lines] = message.split('\n');
    const packages = new Set([...patch.matchAll(/^[-+]([\w.+-]+\/[\w.,+-]+) /gm)].map(([, name]) => name));
    return {hash, subject, body: lines.join('\n').trim(), packages: [...packages]};
  });
}

/** The commits after the one that added the list, or {skipped: reason} if the history does not have it. */
export function listedCommits(folder = root) {
  const git = (...args) => execFileSync('git', args, {cwd: folder, encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore']});
  try {
    if (git('rev-parse', '--is-shallow-repository').trim() === 'true') {
      return {skipped: 'the clone is shallow; git fetch --unshallow gets the history'};
    }
  } catch {
    return {skipped: 'there is no git history here'};
  }
  const first = git('log', '--diff-filter=A', '--format=%H', '--', LIST).trim().split('\n').at(-1);
  if (!first) return {skipped: `no commit has ${LIST} yet`};
  // Merges are left out, because their changes are those of their parents. So are commits on branches without the list.
  const log = (...more) => parseLog(git('log', '--no-merges', '--ancestry-path', '--format=%x01%H%n%B%x02', ...more));
  const range = `${first}..HEAD`;
  const changes = new Map(log('--full-history', '-p', '-U0', range, '--', LIST).map(({hash, packages}) => [hash, packages]));
  return log(range).map((commit) => ({...commit, packages: changes.get(commit.hash)}));
}

/** The problems of all these commits, or {skipped: reason}. */
export function checkCommits(folder = root) {
  const commits = listedCommits(folder);
  if (commits.skipped) return commits;
  return commits.flatMap((commit) => commitProblems(commit).map((problem) => `${commit.hash.slice(0, 12)}: ${problem}`));
}

if (process.argv[1] === import.meta.filename) {
  for (const rule of rules) console.log(`rule: ${rule}`);
  process.exit(report('commits', checkCommits()) === false ? 1 : 0);
}
