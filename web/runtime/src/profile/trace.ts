import type {Findings} from './findings.ts';

/**
 * One run in Chrome's "Trace Event Format": a complete event a launch, one after the other as they were submitted, each as
 * long as it takes alone; a track a device. Times are microseconds, whole nanoseconds of them.
 */
export function traceOf({model, device, adapter, method, runMs, kernelMs, limits, launches}: Findings): string {
  const tracks = [...new Set(launches.map((launch) => launch.device))];
  const meta = (name: string, tid: number, value: string): object => ({
    name, ph: 'M', pid: 1, tid, args: {name: value},
  });
  let end = 0;
  const events = launches.map(({name, origin, bytes, operations, ms, device: place}) => {
    const [ts, dur] = [end / 1000, Math.round(1e6 * ms)];
    end += dur;
    const rate = (amount: number): number => (ms > 0 ? amount / ms / 1e6 : 0);
    return {
      name, cat: 'kernel', ph: 'X', pid: 1, tid: 1 + tracks.indexOf(place), ts, dur: dur / 1000,
      args: {nodes: origin, bytes, operations, 'GB/s': rate(bytes), 'GFLOP/s': rate(operations)},
    };
  });
  return JSON.stringify({
    displayTimeUnit: 'ms',
    otherData: {model, device, adapter, method, runMs, kernelMs, limits},
    traceEvents: [
      meta('process_name', 0, `${model} (${device})`),
      ...tracks.map((track, at) => meta('thread_name', 1 + at, track)),
      ...events,
    ],
  });
}
