/** What a page and the worker of a model say to each other. */
import type {ChatRequest, CompletionRequest} from './api_types.ts';
import {APIError, type ErrorType} from './errors.ts';
import type {GivenFiles} from './folder.ts';
import type {LoadOptions, LoadProgress} from './language_model.ts';

/** What is asked of the model, by kind. */
export type Work =
  | {readonly kind: 'load'; readonly from: string | GivenFiles; readonly options: Omit<LoadOptions, 'fetch' | 'onProgress' | 'signal' | 'worker'>}
  | {readonly kind: 'chat'; readonly request: ChatRequest}
  | {readonly kind: 'completion'; readonly request: CompletionRequest}
  | {readonly kind: 'encode'; readonly text: string}
  | {readonly kind: 'decode'; readonly ids: readonly number[]}
  | {readonly kind: 'prompt'; readonly request: ChatRequest}
  | {readonly kind: 'report'};

export type ToWorker = {readonly call: number} & (Work | {readonly kind: 'abort'});

/** `begun`: a stream; its items follow. */
export type FromWorker = {readonly call: number} & (
  | {readonly kind: 'progress'; readonly progress: LoadProgress}
  | {readonly kind: 'begun'}
  | {readonly kind: 'item'; readonly item: unknown}
  | {readonly kind: 'done'; readonly result?: unknown}
  | {readonly kind: 'failed'; readonly problem: Problem});

/** An error as a message: classes do not survive one. */
export interface Problem {
  readonly name: string;
  readonly message: string;
  readonly status?: number | undefined;
  readonly type?: ErrorType | undefined;
  readonly code?: string | null | undefined;
  readonly param?: string | null | undefined;
  readonly diagnostic?: unknown;
}

export function problemOf(error: unknown): Problem {
  const {name = 'Error', message = String(error), status, type, code, param, diagnostic} = error as Partial<Problem>;
  return {name, message, status, type, code, param, diagnostic};
}

export function errorOf({name, message, status, type, code, param, diagnostic}: Problem): Error {
  if (status !== undefined) return new APIError(status, message, {...(type && {type}), code: code ?? null, param: param ?? null});
  return Object.assign(new Error(message), {name, ...(typeof code === 'string' && {code}), ...(diagnostic !== undefined && {diagnostic})});
}
