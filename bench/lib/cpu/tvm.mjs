// Apache TVM, in the Python that `make bench` installs it into.
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {bench, root} from '../layout.mjs';
import {openServed} from './serve.mjs';

const python = join(root, 'third_party/cache/bench_python/bin/python');

export async function open({threads, graph}) {
  if (!existsSync(python)) throw new Error('is not installed here (tools/setup/setup.sh --bench)');
  const scratch = mkdtempSync(join(tmpdir(), 'gossamer-bench-tvm-'));
  const file = join(scratch, 'model.onnx');
  writeFileSync(file, graph.file());
  try {
    return await openServed(python, [join(bench, 'cpu/tvm_serve.py'), file, String(threads)], graph);
  } finally {
    rmSync(scratch, {recursive: true, force: true});
  }
}
