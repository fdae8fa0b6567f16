/** What ends a command: errors that a user causes, and how they are printed. */
import type {Diagnostic} from '../../compiler/src/call.ts';

/** The model, a file or an option is wrong: exit code 1. */
export class Failure extends Error {
  readonly diagnostic: Diagnostic;
  constructor(where: string, message: string, hint = '') {
    super(message);
    this.diagnostic = {where, message, hint};
  }
}

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

const codeOf = (problem: unknown): unknown => (problem as {code?: unknown} | undefined)?.code;

/** Of what the file system says. */
const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file', EACCES: 'permission denied', EPERM: 'permission denied', EISDIR: 'is a directory', ENOTDIR: 'is not a directory',
};

/** A diagnostic for anything that was thrown. `where`: what it is about, if it does not say so itself. */
export function diagnosticOf(problem: unknown, where = ''): Diagnostic {
  const {diagnostic, path} = (problem ?? {}) as {diagnostic?: Diagnostic; path?: string};
  if (diagnostic) return diagnostic.where === '' ? {...diagnostic, where} : diagnostic;
  const known = FILE_PROBLEMS[String(codeOf(problem))];
  if (known !== undefined) return {where: path ?? where, message: known, hint: ''};
  return {where, message: problem instanceof Error ? problem.message : String(problem), hint: ''};
}

/** In one line. */
export const textOf = ({where, message, hint}: Diagnostic): string =>
  `${where && `${where}: `}${message}${hint && ` (${hint})`}`.replace(/\n/g, ' ');

/** Prints an error of a command, and gives its exit code. */
export function report(problem: unknown, json: boolean): number {
  if (problem instanceof UsageError) {
    console.error(`gossamer: ${problem.message}`);
    return 2;
  }
  const diagnostic = diagnosticOf(problem);
  if (json) console.log(JSON.stringify({error: diagnostic}));
  else console.error(`gossamer: ${textOf(diagnostic)}`);
  return 1;
}
