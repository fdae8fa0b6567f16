import type {Profile} from './findings.ts';

/**
 * One run as a Chrome trace (JSON), which ui.perfetto.dev and chrome://tracing open: an event a launch, one after the
 * other as they were submitted, each as long as it takes alone; a track a device. Times are microseconds.
 */
export function traceOf({model, device, adapter, runMs, kernelMs, launches}: Profile): string {
  const tracks = [...new Set(launches.map((launch) => launch.device))];
  const meta = (name: string, tid: number, value: string): object => ({
    name, ph: 'M', pid: 1, tid, args: {name: value},
  });
  let end = 0;
  const events = launches.map(({name, origin, bytes, ms, device: place}) => {
    const ts = end;
    end += 1000 * ms;
    return {
      name, cat: 'kernel', ph: 'X', pid: 1, tid: 1 + tracks.indexOf(place), ts, dur: 1000 * ms,
      args: {nodes: origin, bytes, 'GB/s': ms > 0 ? bytes / ms / 1e6 : 0},
    };
  });
  return JSON.stringify({
    displayTimeUnit: 'ms',
    otherData: {model, device, adapter, runMs, kernelMs},
    traceEvents: [
      meta('process_name', 0, `${model} (${device})`),
      ...tracks.map((track, at) => meta('thread_name', 1 + at, track)),
      ...events,
    ],
  });
}
