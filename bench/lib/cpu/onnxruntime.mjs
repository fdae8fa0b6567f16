// onnxruntime-node.
import {createRequire} from 'node:module';
import {TYPES} from '../../page/parties/onnxruntime.mjs';

const cpuMs = () => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1e3;
};

export async function open({threads, graph}) {
  const ort = createRequire(import.meta.url)('onnxruntime-node');
  const session = await ort.InferenceSession.create(graph.file(), {intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3});
  const feeds = Object.fromEntries(graph.inputs.map(({name, type, data, shape}) => [name, new ort.Tensor(TYPES[type], data, shape)]));
  const run = async () => {
    const out = await session.run(feeds);
    return graph.outputs.map(({name}) => out[name].data);
  };
  return {
    run,
    timed: async () => {
      const cpu = cpuMs();
      const begin = performance.now();
      await run();
      return {wall: performance.now() - begin, cpu: cpuMs() - cpu};
    },
    close: () => session.release(),
  };
}
