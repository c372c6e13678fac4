// A call that was sent to the MCP server and has no result yet. The server may ask its client something before it has one.
import { NotPerformed, OutcomeUnknown } from 'countersign';
import { isRecord } from '../is-record.ts';
import type { Line } from './line.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, type Params, type RpcResponse } from './messages.ts';

/** How long the client may take to answer a question of the server. */
const ANSWER_MS = 600_000;

export class RunningCall {
  /** The client's connection, for the leg that it is in now. */
  line: Line;
  /** The last response of the server. */
  response: RpcResponse | undefined;
  #question: Params | undefined;
  #asked = Promise.withResolvers<Params>();
  #answer = Promise.withResolvers<Params>();

  constructor(line: Line) {
    this.line = line;
    this.#answer.promise.catch(() => undefined);
  }

  /** Sends the call, and once more with each answer of the client. Throws `OutcomeUnknown` if the server does not respond. */
  async send(params: Params): Promise<unknown> {
    for (let leg: Params = {}; ; leg = await this.#answered()) {
      const sent = this.line.send({ ...params, ...leg });
      this.response = await sent.catch((error: Error) => {
        throw new OutcomeUnknown(`The MCP server did not respond: ${error.message}`);
      });
      const { result, error } = this.response;
      if (error)
        throw error.code === METHOD_NOT_FOUND || error.code === INVALID_PARAMS
          ? new NotPerformed(error.message)
          : new Error(error.message);
      if (!isRecord(result) || result.resultType !== 'input_required') return result;
      this.#question = result;
      this.#asked.resolve(result);
    }
  }

  /** Resolves with the question of the server, once it asks one. */
  asked(): Promise<Params> {
    return this.#asked.promise;
  }

  /** Passes the answer of the client on. Without a pending question it changes nothing. */
  answer(inputResponses: unknown): void {
    if (!this.#question || inputResponses === undefined) return;
    const { requestState } = this.#question;
    this.#question = undefined;
    this.#asked = Promise.withResolvers();
    this.#answer.resolve({ inputResponses, ...(requestState !== undefined && { requestState }) });
  }

  /** Ends the wait for an answer: it will not come. */
  abandon(): void {
    if (this.#question)
      this.#answer.reject(new OutcomeUnknown('The client did not answer the question of the MCP server.'));
  }

  async #answered(): Promise<Params> {
    const late = setTimeout(() => this.abandon(), ANSWER_MS);
    try {
      return await this.#answer.promise;
    } finally {
      clearTimeout(late);
      this.#answer = Promise.withResolvers();
      this.#answer.promise.catch(() => undefined);
    }
  }
}
