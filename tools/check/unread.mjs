// What is declared and does nothing: options and capabilities that nothing reads, flags whose variable nothing reads,
// kinds of stages, steps and IR nodes that nothing makes or nothing asks for, fields of operators that no operator has.
// Compilers do not see these; the sources are read as text, so names are looked for after `.`, `->` or `::` alone.
import {allFiles, read, report} from './repository.mjs';

const source = /^(src|rpc|serve|include|tools\/gossamer|web\/compiler\/native)\/.*\.(cc|h|def)$/;
const test = /_test\.cc$/;

// struct → where it stands, what its objects are called (anything, unless said), which folders' reading counts, but in the file that
// fills them; a table that has fields of it, a row each.
const structs = [
  {name: 'Options', header: 'src/compiler/compile.h', called: 'options_?', readers: /^src\//},
  {name: 'Options', header: 'include/gossamer/options.def', row: /^GS_OPTION\(\S+, (\w+),/gm, called: 'options_?', readers: /^src\//},
  {name: 'Capabilities', header: 'src/target/capabilities.h', called: '(?:\\w*caps|capabilities)_?(?:\\(\\))?', readers: /^src\//, table: 'src/target/capabilities.cc'},
  {name: 'Costs', header: 'src/target/costs.h', called: 'costs(?:_|_of\\(\\w+\\))?', readers: /^src\//, table: 'src/target/costs.cc'},
  {name: 'Stage', header: 'src/stages/stage.def', row: /^GS_STAGE\(.*, (\w+)\)/gm, readers: /^src\//},
  {name: 'Step', header: 'src/stages/step.h', readers: /^src\//},
  {name: 'OpDef', header: 'src/ops/opdef.h', readers: /^(src|tools)\//, givers: /^src\/ops\//},
];
const kinds = [
  {name: 'StageKind', header: 'src/stages/stage.h'},
  {name: 'StepKind', header: 'src/stages/step.h'},
];
// IR nodes that only text makes, each with its reason.
const madeFromText = new Map();

const withoutComments = (text) =>
  text.replace(/"(?:\\.|[^"\\\n])*"|\/\/.*|\/\*[^]*?\*\//g, (match) => (match.startsWith('"') ? match : ' '));

// The text between the bracket at `open` and its partner.
function inside(text, open) {
  const pairs = {'(': ')', '{': '}', '<': '>'};
  const close = pairs[text[open]];
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === text[open]) depth++;
    else if (text[at] === close && --depth === 0) return text.slice(open + 1, at);
  }
  return '';
}

// 'bool a = true, b;' → a, b. Functions and nested types have none.
export function fieldsOf(header, name) {
  const at = new RegExp(`\\bstruct ${name}\\b[^;{]*\\{`).exec(header);
  if (!at) return [];
  let body = inside(header, at.index + at[0].length - 1).replace(/^ *#.*$/gm, '');
  for (let before = ''; before !== body; ) {
    before = body;
    body = body.replace(/<[^<>]*>/g, '').replace(/\{[^{}]*\}/g, '');
  }
  return body.split(';').flatMap((statement) => {
    if (/\(|^\s*(using|enum|struct|static)\b/.test(statement)) return [];
    return statement.split(',').flatMap((one) => /(\w+)\s*(?:=.*)?$/s.exec(one.trim())?.[1] ?? []);
  });
}

const enumValues = (header, name) =>
  new RegExp(`\\benum class ${name}\\b[^{]*\\{([^}]*)\\}`).exec(header)?.[1].match(/\w+/g) ?? [];

const anyOf = (texts, pattern) => texts.some((text) => pattern.test(text));

function unreadFields(files, textsOf) {
  const problems = [];
  for (const {name, header, row, called = '[\\w\\])]', readers, givers, table} of structs) {
    const text = files.get(header) ?? '';
    for (const field of row ? [...text.matchAll(row)].map(([, field]) => field) : fieldsOf(text, name)) {
      const reading = new RegExp(`${called}(?:\\.|->)${field}\\b(?!\\s*=[^=])|&(?:\\w+::)*${name}::${field}\\b`);
      const texts = textsOf((file) => readers.test(file) && file !== header && file !== table);
      if (!anyOf(texts, reading)) problems.push(`${header}: nothing reads ${name}::${field}`);
      const giving = new RegExp(`\\.${field}\\s*=(?!=|\\s*\\{\\s*\\})`);
      if (givers && !anyOf(textsOf((file) => givers.test(file)), giving)) {
        problems.push(`${header}: no entry gives ${name}::${field}`);
      }
    }
  }
  return problems;
}

// command.add_flag("--json", options->json, ...): somebody must read `json`.
function unreadFlags(files, textsOf) {
  const problems = [];
  const call = /\badd_(?:flag|option)\s*\(/g;
  const calls = [];
  for (const [file, text] of files) {
    if (!file.startsWith('tools/gossamer/') || test.test(file)) continue;
    for (const match of text.matchAll(call)) {
      const given = inside(text, match.index + match[0].length - 1);
      const [, flag, variable] = /^\s*"([^"]*)"\s*,\s*([^,]*)/.exec(given) ?? [];
      const member = /(\w+)\s*$/.exec(variable ?? '')?.[1];
      if (member && !variable.includes('[')) calls.push({file, flag, member});
    }
  }
  const bare = textsOf((file) => /^(src|rpc|serve|tools)\//.test(file)).map((text) =>
    text.replace(/\badd_(?:flag|option)\s*\(\s*"[^"]*"\s*,\s*[^,)]*/g, ''),
  );
  for (const {file, flag, member} of calls) {
    const reading = new RegExp(`(?:[\\w\\])](?:\\.|->)|\\*)${member}\\b(?!\\s*=[^=])`);
    if (!anyOf(bare, reading)) problems.push(`${file}: nothing reads what ${flag} sets`);
  }
  return problems;
}

function idleKinds(files, textsOf) {
  const problems = [];
  for (const {name, header} of kinds) {
    for (const value of enumValues(files.get(header) ?? '', name)) {
      const full = `(?:\\w+::)*${name}::${value}\\b`;
      const made = new RegExp(`(?:[^=!<>]=\\s*|\\b(?:of_kind|stage_over)\\(\\s*)${full}`);
      const asked = new RegExp(`(?:[=!]=\\s*|\\bcase\\s+|\\bis\\(\\s*)${full}`);
      if (!anyOf(textsOf((file) => file.startsWith('src/')), made)) problems.push(`${header}: nothing makes ${name}::${value}`);
      // Printing a kind is not yet doing something about it.
      const texts = textsOf((file) => file.startsWith('src/') && !['src/stages/stage.cc', 'src/stages/step.cc'].includes(file));
      if (!anyOf(texts, asked)) problems.push(`${header}: nothing asks for ${name}::${value}`);
    }
  }
  return problems;
}

// A node is made by `new Name` or `Making<Name>`, mostly in a function of src/ir/build*.cc, which offers it, or reads it
// from text; what begins one is a call of such a function from elsewhere.
function idleNodes(files, textsOf) {
  const table = 'src/ir/nodes.def';
  const names = [...(files.get(table) ?? '').matchAll(/^GS_(?:EXPR|STMT)\((\w+),/gm)].map((match) => match[1]);
  const offered = [...files].filter(([file]) => /^src\/ir\/build\w*\.cc$/.test(file) && !test.test(file));
  const functions = offered.flatMap(([, text]) => [...text.matchAll(/^[\w:<>]+ (\w+)\([^;{]*\) \{(.*\}$|[^]*?^\})/gm)]);
  const makersOf = (name) => {
    const makers = new Set();
    const begins = new RegExp(`\\b(?:new ${name}\\(|Making<${name}>|Stmt\\(new ${name}\\b)`);
    for (let before = -1; before !== makers.size; ) {
      before = makers.size;
      const calls = makers.size > 0 ? new RegExp(`\\b(?:${[...makers].join('|')})\\(`) : /(?!)/;
      for (const [, maker, body] of functions) if (begins.test(body) || calls.test(body)) makers.add(maker);
    }
    return [...makers];
  };
  const texts = textsOf((file) => /^src\//.test(file) && !/^src\/ir\/(build|parse|simplify|rewrite|print|nodes)/.test(file));
  const problems = [];
  for (const name of names) {
    const calls = makersOf(name).map((maker) => `(?:ir::|\\breturn |[=(,{?:!]\\s*|\\s(?:&&|\\|\\||[*+-])\\s)${maker}\\(`);
    const pattern = new RegExp([`\\bnew (?:ir::)?${name}\\(`, ...calls].join('|'));
    const made = anyOf(texts, pattern);
    if (!made && !madeFromText.has(name)) problems.push(`${table}: nothing makes ${name}`);
    if (made && madeFromText.has(name)) problems.push(`tools/check/unread.mjs: ${name} is made now: take it off the list`);
  }
  return problems;
}

// `texts`: path → content.
export function unreadProblems(texts) {
  const files = new Map([...texts].map(([file, text]) => [file, withoutComments(text)]));
  const textsOf = (wanted) => [...files].filter(([file]) => wanted(file) && !test.test(file)).map(([, text]) => text);
  return [unreadFields, unreadFlags, idleKinds, idleNodes].flatMap((find) => find(files, textsOf));
}

export function sources() {
  return new Map(allFiles().filter((file) => source.test(file)).map((file) => [file, read(file)]));
}

export const checkUnread = () => unreadProblems(sources());

if (process.argv[1] === import.meta.filename) {
  process.exit(report('nothing unread', checkUnread()) ? 0 : 1);
}
