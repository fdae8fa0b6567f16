// What src/package/manifest.def says of each field, tried on the manifests of packages: a value that it does not allow
// must be refused by this field's path, and so must a manifest without a field that must be there.
import {manifestTable} from '../../tools/check/manifest.mjs';

const {records, steps, manifest: ROOT} = manifestTable();
const firsts = new Set([...steps.values()].map(([first]) => first));
const copyOf = (json) => JSON.parse(JSON.stringify(json));
const ANY = 2 ** 53;
const rowsOf = (name) => records.get(name).flatMap((row) => (row.type.name === 'flat' ? rowsOf(row.type.args[0]) : [row]));
const nested = /^(records?|fed|known)$/;

/** Values that an integer in [least, most] is not. */
const noCount = (least, most) => [least - 1, ...(most === ANY - 1 ? [] : [most + 1]), ANY, -ANY, 0.5, '1', null, true, {}, []];

/** [value, what its path ends in] that a type does not allow; {length(list), values, wide} are the manifest's limits. */
function refused({name, args: [first, last]}, limits) {
  const here = (values) => values.map((value) => [value, '']);
  const inside = (values) => values.map((plan) => [{plan}, '.plan']);
  const numbers = (least, below) => [
    ...here([least - 1, ...(below === ANY ? [] : [below]), ANY, 0.5, '1', true]),
    ...inside([-1, limits.values, 0.5, '0', null]), [{}, '.plan'], [null, ''], [[], ''],
  ];
  const below = limits.wide ? ANY : 2 ** 31;
  switch (name) {
    case 'text': case 'target': return here([7, null, true, [], {}]);
    case 'plain': return here(['', '.', '..', '../x', 'a/b', 'a\\b', 'C:x', '%2e', 'a b', '-x', '.x', 'é', 'a\n', 'a'.repeat(129), 7, null]);
    case 'flag': return here(['true', 0, 1, null, [], {}]);
    case 'dtype': return here(['', 'F32', 'string', 'index', '__proto__', 'constructor', 7, null, []]);
    case 'count': return here(noCount(Number(first), Number(last)));
    case 'size': return here(noCount(0, ANY - 1));
    case 'index': return here(noCount(0, limits.length(first) - 1));
    case 'upto': return here(noCount(0, limits.length(first)));
    case 'number': return numbers(0, ANY);
    case 'integer': return numbers(1 - ANY, ANY);
    case 'range': return numbers(0, below);
    case 'scalar': return numbers(limits.wide ? 1 - ANY : -below, below);
    case 'extents': return [...here([7, 'x', {}, null]), [[0.5], '[0]'], [[-1], '[0]'], [[null], '[0]'], [[1, true], '[1]']];
    case 'span': case 'pair': {
      const most = limits.length(first) - (name === 'pair' ? 1 : 0);
      return [...here([7, 'x', {}, null, [], [0], [0, 0, 0]]), ...noCount(0, most).map((value) => [[value, 0], '[0]']), ...noCount(0, most).map((value) => [[0, value], '[1]'])];
    }
    case 'list': {
      const item = /^(\w+)(?:\((.*)\))?$/.exec(first);
      return [...here([7, 'x', {}, null]), ...refused({name: item[1], args: (item[2] ?? '').split(', ')}, limits).map(([value, path]) => [[value], `[0]${path}`])];
    }
    case 'sets': return [...here([7, 'x', {}, null]), [[[0]], '[0]'], [[7], '[0]'], [[[-1, 0]], '[0][0]'], [[[limits.length('dims'), 0]], '[0][0]'], [[[0, 0.5]], '[0][1]']];
    case 'record': return here([7, 'x', [], null]);
    case 'steps': return [...here([7, 'x', {}, null]), [[7], '[0]'], [[null], '[0]'], [[[]], '[0]']];
    // Without such a list, indices into it are named first: cases.mjs compares what is said then.
    case 'records': case 'fed': case 'known': return [];
    default: throw new Error(`manifest.def: tests/packages has no values for the type ${name}`);
  }
}

/** Whether a manifest without the field is refused. */
const isRequired = ({type, presence}) =>
  presence.name === 'always' && !/^(list|records|fed|known|extents|span|pair|sets)$/.test(type.name);

/** The objects of a manifest: [rows, path to it, object]. */
function* objectsOf(json, rows = ROOT, path = []) {
  yield [rows, path, json];
  for (const {key, type} of rows) {
    const value = json[key];
    if (value === undefined) continue;
    if (type.name === 'record') yield* objectsOf(value, rowsOf(type.args[0]), [...path, key]);
    else if (nested.test(type.name)) for (const [at, one] of value.entries()) yield* objectsOf(one, rowsOf(type.args[0]), [...path, key, at]);
    else if (type.name === 'steps') {
      for (const [at, one] of value.entries()) yield* objectsOf(one, [...steps.values()].find(([{key: first}]) => one[first] !== undefined), [...path, key, at]);
    }
  }
}

const textOf = (path) => path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');

/** Cases {manifest, path}: each with one wrong field, which must be named. `take()` chooses among entries after the first of a list. */
export function* fieldCases(manifest, take) {
  const length = (list) => {
    if (list === 'segments') return manifest.plan?.segments ?? 1;
    if (list === 'plans') return manifest.plan ? (manifest.plan.segments ?? 1) : 0;
    if (list === 'devices') return manifest.side ? 2 : 1;
    return manifest[list]?.length ?? 0;
  };
  const limits = {length, values: manifest.plan?.values ?? 0, wide: manifest.target === 'cpu'};
  for (const [rows, path, object] of objectsOf(manifest)) {
    if (path.some((key) => typeof key === 'number' && key > 0) && !take()) continue;
    const change = (how) => {
      const copy = copyOf(manifest);
      how(path.reduce((at, key) => at[key], copy));
      return JSON.stringify(copy);
    };
    const init = path[0] === 'init' ? {...limits, values: 0} : limits;
    for (const row of rows) {
      const {key, type, presence} = row;
      if (key === 'format' || key === 'version' || (path.length === 0 && key === 'target')) continue;
      if (presence.name === 'when' && object[key] === undefined) continue;
      const place = `package${textOf([...path, key])}`;
      for (const [value, end] of refused(type, init)) {
        // On the other device a texture is not one.
        const named = key === 'device' && value === 1 && object.width !== undefined ? place.replace(/device$/, 'bytes') : place + end;
        yield {manifest: change((at) => (at[key] = value)), path: named};
      }
      if (nested.test(type.name) && object[key]?.length > 0) {
        for (const value of [7, null, []]) yield {manifest: change((at) => (at[key][0] = value)), path: `${place}[0]`};
      }
      // Without the first field it is another step, or none.
      if (isRequired(row) && !firsts.has(row)) yield {manifest: change((at) => delete at[key]), path: place};
    }
  }
}
