// Which files of the repository a job of `make test` may read. Checks read all of them, other jobs do not read
//
// - a folder of tests/ that no script outside of it names, unless the job is that folder's suite;
// - documents and the site, unless a test or a script of setup names them, or the job is the site's test;
// - tools/check, unless the script of their suite names it.
import {allFiles, read} from './repository.mjs';

const isCode = (file) => /\.(mjs|js|ts|py|sh|html|json|txt|cmake|cc|h|c)$/.test(file);
const isDocument = (file) => /^(docs\/|site\/|bench\/results\/|[^/]+\.md$)/.test(file);
// What runs in tests. The compiler's messages and the declarations of packages name documents that they do not read.
const opensDocuments = (file) => /^(tests|tools\/(demo|setup)|python\/tests)\/|\.test\.ts$|_test\.cc$|^(CMakeLists\.txt|pyproject\.toml)$/.test(file);
// These start jobs, and name files that they do not read themselves.
const startsJobs = (file) => /^tools\/check\//.test(file);

/** The lines of a source that are not comments. */
export const codeLines = (text) => text.split('\n').filter((line) => !/^\s*(\/\/|\/?\*|#(?!include))/.test(line)).join('\n');

/** Whether code names a folder of tests/: 'tests/rpc', '../rpc/' or join('tests', 'rpc'). */
export const namesFolder = (code, name) => new RegExp(`tests/${name}(?!\\w)|\\.\\./${name}/|['"]tests['"], ['"]${name}['"]`).test(code);

/** Gives filesOf(job). `files` and `textOf(file)` describe another tree, for tests. */
export function readFiles(files = allFiles(), textOf = read) {
  const code = files.filter((file) => isCode(file) && !isDocument(file) && !startsJobs(file)).map((file) => [file, codeLines(textOf(file))]);
  const folders = [...new Set(files.map((file) => /^tests\/([^/]+)\/suite\.(sh|mjs)$/.exec(file)?.[1]).filter(Boolean))];
  const own = folders.map((name) => [`tests/${name}/`, name])
    .filter(([folder, name]) => !code.some(([file, text]) => !file.startsWith(folder) && namesFolder(text, name))).map(([folder]) => folder);
  const opening = code.filter(([file]) => opensDocuments(file)).map(([, text]) => text).join('\n');
  const unread = new Set(files.filter((file) => isDocument(file) && !opening.includes(file.includes('/') ? file : `/${file}`) && !opening.includes(`'${file}'`)));
  const importing = code.filter(([file, text]) => /\.(mjs|js|ts|py|sh)$/.test(file) && text.includes('tools/check/')).map(([file]) => file);
  return ({name}) => {
    if (name.startsWith('checks: ')) return files;
    const isOwn = (folder) => name.replace(/^tests_/, 'tests/').startsWith(folder.slice(0, -1));
    const others = own.filter((folder) => !isOwn(folder));
    // What a script of another folder imports may be imported by any job in turn.
    const checks = importing.some((file) => !others.some((folder) => file.startsWith(folder)));
    const isSite = name.startsWith('tests/site/');
    return files.filter((file) => (isSite || !unread.has(file)) && !others.some((folder) => file.startsWith(folder)) && (checks || !startsJobs(file)));
  };
}
