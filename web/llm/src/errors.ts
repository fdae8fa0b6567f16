/** Errors as OpenAI's API answers them. */

export type ErrorType = 'invalid_request_error' | 'not_found_error' | 'server_error';

/** What a bad request, or a model that fails, rejects with. The fields are those of an error of OpenAI's API. */
export class APIError extends Error {
  readonly status: number;
  readonly type: ErrorType;
  readonly code: string | null;
  /** The argument that is wrong. */
  readonly param: string | null;

  constructor(status: number, message: string, {type = 'invalid_request_error', code = null, param = null, cause}: {type?: ErrorType; code?: string | null; param?: string | null; cause?: unknown} = {}) {
    super(message, {cause});
    this.name = 'APIError';
    this.status = status;
    this.type = type;
    this.code = code;
    this.param = param;
  }

  /** The body of a server's answer. */
  toJSON(): {error: {message: string; type: ErrorType; param: string | null; code: string | null}} {
    const {message, type, param, code} = this;
    return {error: {message, type, param, code}};
  }
}

/** A request that cannot be answered, because of the argument `param`. */
export const badRequest = (message: string, param: string | null, code: string | null = null): APIError => new APIError(400, message, {param, code});
