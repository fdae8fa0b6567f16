/** Functions of onnxruntime-common that code may import and that have no use here. */
import type {Backend} from './session_api.ts';

/** Throws: the execution providers are those of Gossamer. */
export function registerBackend(name: string, _backend: Backend, _priority: number): void {
  throw new Error(`registerBackend("${name}"): @gossamer/ort has its own execution providers and takes no others`);
}

export const TRACE = (_deviceType: string, _label: string): void => undefined;
export const TRACE_FUNC_BEGIN = (_extraMsg?: string): void => undefined;
export const TRACE_FUNC_END = (_extraMsg?: string): void => undefined;
export const TRACE_EVENT_BEGIN = (_extraMsg?: string): void => undefined;
export const TRACE_EVENT_END = (_extraMsg?: string): void => undefined;
