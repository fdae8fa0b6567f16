/** A page's end of the averaging server (server.ts). */
import type {State} from './server.ts';

/** What the server said against something. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class Federation {
  readonly #address: string;
  #client = '';

  /** Of a server at this address, without a slash at its end. */
  constructor(address: string) {
    this.#address = address;
  }

  async #ask(what: string, query: Readonly<Record<string, string | number>>, init: RequestInit = {}): Promise<Response> {
    const words = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    const response = await fetch(`${this.#address}/${what}?${words}`, init).catch((problem: unknown) => {
      throw new Error('The averaging server does not answer: make examples starts it.', {cause: problem});
    });
    if (!response.ok) throw new Refused(response.status, (await response.text()) || `the server answered ${response.status}`);
    return response;
  }

  async join(): Promise<void> {
    const {client} = (await (await this.#ask('join', {}, {method: 'POST'})).json()) as {client: string};
    this.#client = client;
  }

  /** How the rounds stand; also says that this page is still there. */
  async state(): Promise<State> {
    return (await (await this.#ask('state', {client: this.#client})).json()) as State;
  }

  /** The weights that a round begins with, as a safetensors file. */
  async weights(round: number): Promise<ArrayBuffer> {
    return (await this.#ask('weights', {round})).arrayBuffer();
  }

  /** This page's weights, learnt from so many examples. Rejects with Refused. */
  async update(round: number, examples: number, file: Uint8Array): Promise<void> {
    await this.#ask('update', {client: this.#client, round, examples}, {method: 'POST', body: file as Uint8Array<ArrayBuffer>});
  }
}
