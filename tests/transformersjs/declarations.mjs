// Whether code written against onnxruntime-common's declarations compiles against those of @gossamer/ort.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';

const web = path.resolve(import.meta.dirname, '../../web');
const ts = createRequire(path.join(web, 'x.js'))('typescript');

/** Types that take more here, such as URLs, or have more to give: one direction holds. */
const WIDER = ['Env', 'ExternalDataFileDescription', 'ExternalDataFileType', 'InferenceSession.SessionOptions', 'OnnxModelOptions'];

/** What comparing the types alone does not tell: which overload a call takes. */
const usesOf = (ort) => `
takes<theirs.TypedTensor<'int64'>>(new ${ort}.Tensor(new BigInt64Array(1)));
takes<theirs.TypedTensor<'uint64'>>(new ${ort}.Tensor('uint64', [1n, 2n], [2]));
takes<theirs.TypedTensor<'string'>>(new ${ort}.Tensor(['a']));
takes<theirs.TypedTensor<'bool'>>(new ${ort}.Tensor('bool', [true, false], [1, 2]));
takes<theirs.TypedTensor<'uint8'>>(new ${ort}.Tensor(new Uint8ClampedArray(4), [4]));
takes<Float32Array>(new ${ort}.Tensor('float32', [1, 2]).reshape([2, 1]).data);
takes<Promise<Uint16Array>>(new ${ort}.Tensor('float16', new Uint16Array(1)).getData(true));
takes<Promise<theirs.TypedTensor<'float32'> | theirs.TypedTensor<'uint8'>>>(${ort}.Tensor.fromImage(some<ImageBitmap>(), {norm: {mean: [1, 2, 3]}, tensorLayout: 'NHWC'}));
takes<theirs.TypedTensor<'int32'>>(${ort}.Tensor.fromGpuBuffer(some<theirs.Tensor.GpuBufferType>(), {dataType: 'int32', dims: [1], download: async () => new Int32Array(1)}));
takes<Promise<theirs.InferenceSession>>(${ort}.InferenceSession.create(new ArrayBuffer(8), 4, 4, {executionProviders: ['webgpu', {name: 'webgpu', device: some<never>()}], extra: {a: 1}}));
takes<Promise<{readonly [name: string]: theirs.Tensor}>>(some<${ort}.InferenceSession>().run({x: new ${ort}.Tensor([true])}, {y: null}, {tag: 'a'}));
${ort}.env.wasm.wasmPaths = {wasm: new URL('a:b'), mjs: ''};
${ort}.env.webgpu.profiling.ondata = ({kernelName, startTime}) => takes<[string, number]>([kernelName, startTime]);
${ort}.registerBackend('x', some<theirs.Backend>(), 1);
`;

const OPTIONS = {
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: false,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.esnext.disposable.d.ts'],
  types: [],
};

/** All names that a module exports, those of namespaces after a dot: whether each is a type and a value, and how many parameters the type has. */
function namesOf(checker, module) {
  const found = new Map();
  const visit = (symbol, before) => {
    for (const each of checker.getExportsOfModule(symbol)) {
      const target = each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each;
      const name = before + each.name;
      const isType = Boolean(target.flags & ts.SymbolFlags.Type);
      const declaration = target.declarations?.find((node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node));
      found.set(name, {isType, isValue: Boolean(target.flags & ts.SymbolFlags.Value), parameters: declaration?.typeParameters?.length ?? 0});
      if (target.flags & ts.SymbolFlags.Namespace) visit(target, `${name}.`);
    }
  };
  visit(module, '');
  return found;
}

/** What is missing or different in `ours`, the path of declarations, for code that is written for `theirs`. */
export function declarationProblems(theirs, ours) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'gossamer-declarations-'));
  try {
    const file = path.join(folder, 'use.ts');
    const program = (text) => {
      writeFileSync(file, `import * as theirs from 'theirs';\nimport * as ours from 'ours';\n${text}`);
      return ts.createProgram([file], {...OPTIONS, paths: {theirs: [theirs], ours: [ours]}});
    };
    const first = program('export const both = [theirs, ours];\n');
    const checker = first.getTypeChecker();
    const modules = first.getSourceFile(file).statements.filter(ts.isImportDeclaration).map(({moduleSpecifier}) => checker.getSymbolAtLocation(moduleSpecifier));
    if (modules.some((module) => !module)) return [`the declarations ${theirs} or ${ours} are missing`];
    const [wanted, made] = modules.map((module) => namesOf(checker, module));
    const problems = [], lines = ['declare function takes<T>(value: T): void;', 'declare function some<T>(): T;'];
    for (const [name, {isType, isValue, parameters}] of wanted) {
      const own = made.get(name);
      if (!own || (isType && !own.isType) || (isValue && !own.isValue)) {
        problems.push(`${name} is missing`);
        continue;
      }
      const given = parameters > 0 ? `<${Array(parameters).fill(`'float32'`).join(', ')}>` : '';
      // Values are used in place of theirs; types are what code makes, or what it is given.
      if (isValue) lines.push(`takes<typeof theirs.${name}>(ours.${name});`);
      if (isType) lines.push(`takes<ours.${name}${given}>(some<theirs.${name}${given}>());`);
      if (isType) lines.push(`takes<theirs.${name}${given}>(some<ours.${name}${given}>());`);
    }
    const second = program(`${lines.join('\n')}\n${usesOf('ours')}${usesOf('theirs')}`);
    const byType = new Map();
    for (const {start, messageText} of second.getSemanticDiagnostics(second.getSourceFile(file))) {
      const text = second.getSourceFile(file).text;
      const line = text.slice(text.lastIndexOf('\n', start) + 1, text.indexOf('\n', start));
      const name = /takes<\w+ ?\w*\.([\w.]+)[^ ]*>\(/.exec(line)?.[1] ?? line;
      byType.set(name, [...(byType.get(name) ?? []), `${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ').slice(0, 400)}`]);
    }
    for (const [name, found] of byType) if (!WIDER.includes(name) || found.length > 1) problems.push(...found);
    return problems;
  } finally {
    rmSync(folder, {recursive: true});
  }
}

/** Of the built package. */
export const OUR_DECLARATIONS = path.join(web, 'ort/dist/types/ort/src/index.d.ts');
