// The zoo: networks that people deploy, as PyTorch exports them with open dimensions, against the outputs of ONNX Runtime.
// `make zoo` generates the models (export.py). A case that passes only with fixed shapes has failed.
import {existsSync, readdirSync} from 'node:fs';
import path from 'node:path';

const folder = path.resolve(import.meta.dirname, '../../third_party/cache/zoo');

// Models that `make test` runs: small ones of different kinds.
const SMOKE = ['attention', 'dlrm', 'encodec_decoder', 'gpt2', 'lstm_tagger', 'minilm', 'mobilenetv3_small', 'vae_decoder'];

const TARGETS = ['cpu', 'wasm', 'webgpu', 'webgl'];

/** Models that do not pass yet: {model: [targets, reason]}. This list may only shrink. */
const KNOWN = {};

const setsOf = (model) => readdirSync(path.join(folder, model)).filter((name) => name.startsWith('test_data_set_')).sort();

const isQuantized = (name) => name.endsWith('_int8');
const isHalf = (name) => name.endsWith('_f16');

/**
 * Converted models (converted_models.py) are only measured. A sum that rounds to the other side moves an activation by a whole step, and later layers
 * make more of it: of int8 models, ONNX Runtime's own results with and without its optimisations differ by 2 %; of f16 ones, it rounds between
 * other operators, so that results differ by up to 1.4 times the tolerance of f16.
 */
const isConverted = (name) => isQuantized(name) || isHalf(name);

/** Within what part of the largest element bench/zoo.mjs compares outputs with those of ONNX Runtime. */
export const toleranceOf = (name) => (isQuantized(name) ? 0.15 : isHalf(name) ? 2e-2 : 1e-3);

/** The generated models, by name. */
export const zooModels = () => (existsSync(folder) ? readdirSync(folder).filter((name) => existsSync(path.join(folder, name, 'model.onnx'))).sort() : []);

/** tests/cases/suite.mjs has the contract. */
export function planFor(configuration, {all, tally}) {
  if (!(all ? [...TARGETS, 'cpu avx2', 'cpu sse'] : TARGETS).includes(configuration)) return undefined;
  const models = zooModels();
  if (models.length === 0) {
    if (configuration === 'cpu') tally.skip('zoo', 'its models are not generated, because PyTorch takes 6 GB of disk; run `make zoo`');
    return undefined;
  }
  const exact = models.filter((name) => !isConverted(name));
  const chosen = all ? exact : exact.filter((name) => SMOKE.includes(name));
  const [target] = configuration.split(' ');
  const failed = new Set();
  return {
    folders: [folder],
    names: chosen.flatMap((model) => setsOf(model).map((set) => `zoo/${model}/${set}`)),
    judge({name, status, message, known}) {
      const [targets, reason] = KNOWN[name.split('/')[1]] ?? [];
      const problem = status !== 'pass' ? message || status : known ? `only with ${known} known` : '';
      if (!reason || !targets.includes(target)) return problem;
      if (problem) failed.add(name.split('/')[1]);
      return null;
    },
    // Some cases of a listed model may pass.
    end: () => chosen.filter((model) => KNOWN[model]?.[0].includes(target) && !failed.has(model)).map((model) => `${model} passes: remove it from KNOWN of tests/zoo/cases.mjs`),
  };
}
