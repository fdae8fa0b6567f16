/**
 * strip(), lstrip(), rstrip() and the filter trim as Python defines them. Those of @huggingface/jinja ignore the characters that they
 * are given, and have JavaScript's white space. Templates depend on the difference: Qwen 3's remove newlines alone.
 */

/** Python's str.isspace(). */
const SPACE = '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000';

function stripped(value: unknown, characters: unknown, left: boolean, right: boolean): string {
  const text = Array.from(typeof value === 'string' ? value : value === undefined || value === null ? 'None' : JSON.stringify(value));
  const cut = new Set(typeof characters === 'string' ? characters : SPACE);
  let [from, to] = [0, text.length];
  while (left && from < to && cut.has(text[from] as string)) ++from;
  while (right && from < to && cut.has(text[to - 1] as string)) --to;
  return text.slice(from, to).join('');
}

/** Variables of templates that rewritten calls name. No template can name them. */
export const STRIPS: Readonly<Record<string, (value: unknown, characters?: unknown) => string>> = {
  'python.strip': (value, characters) => stripped(value, characters, true, true),
  'python.lstrip': (value, characters) => stripped(value, characters, true, false),
  'python.rstrip': (value, characters) => stripped(value, characters, false, true),
};

interface Node {
  type?: string;
  value?: unknown;
  callee?: Node;
  object?: Node;
  property?: Node;
  computed?: boolean;
  args?: Node[];
  operand?: Node;
  filter?: Node;
}

const named = (name: string): Node => ({type: 'Identifier', value: `python.${name}`});

/** Changes calls in a parsed template to those of STRIPS. */
export function usePythonStrip(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const each = node as Node;
  if (each.type === 'CallExpression' && each.callee?.type === 'MemberExpression' && !each.callee.computed) {
    const {object, property} = each.callee;
    const name = String(property?.value);
    if (object && Object.hasOwn(STRIPS, `python.${name}`)) Object.assign(each, {callee: named(name), args: [object, ...(each.args ?? [])]});
  } else if (each.type === 'FilterExpression' && each.operand && each.filter) {
    const {operand, filter} = each;
    const [identifier, args] = filter.type === 'CallExpression' ? [filter.callee, filter.args ?? []] : [filter, []];
    if (identifier?.value === 'trim') Object.assign(each, {type: 'CallExpression', callee: named('strip'), args: [operand, ...args]});
  }
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) value.forEach(usePythonStrip);
    else usePythonStrip(value);
  }
}
