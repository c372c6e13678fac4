// The calls that were sent to the MCP server and have no result yet. The server may ask its client something before it has one.
import { type Gate, type GateResult, NotPerformed, OutcomeUnknown } from 'countersign';
import { isRecord } from '../../is-record.ts';
import type { Line } from '../line.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, type Params, type RpcResponse } from '../messages.ts';

/** How long the client may take to answer a question of the server. */
const ANSWER_MS = 600_000;

/** A call to send. `params`: those of its request, but for the arguments. */
export type Sent = {
  readonly gate: Gate;
  readonly key: string;
  readonly input: unknown;
  readonly line: Line;
  readonly params: Params;
};

export type Running = { readonly call: RunningCall; readonly outcome: Promise<GateResult> };

/** The calls that this process runs, by their keys. */
export class RunningCalls {
  readonly #calls = new Map<string, Running>();

  get(key: string): Running | undefined {
    return this.#calls.get(key);
  }

  /** Sends the call, or joins it. */
  run({ gate, key, input, line, params }: Sent): Running {
    const known = this.#calls.get(key);
    if (known) {
      known.call.line = line;
      return known;
    }
    const call = new RunningCall(line);
    const run = (edited: unknown) => call.send({ ...params, arguments: edited });
    const outcome = gate.request(input, { key, by: line.by, run });
    const running = { call, outcome };
    this.#calls.set(key, running);
    const over = () => void this.#calls.delete(key);
    outcome.then(over, over);
    return running;
  }

  /** Resolves once no call is sent without its result on record. Calls that wait for an answer of their client are in doubt. */
  async close(): Promise<void> {
    for (const { call } of this.#calls.values()) call.abandon();
    await Promise.allSettled([...this.#calls.values()].map(({ outcome }) => outcome));
  }
}

export class RunningCall {
  /** The client's connection, for the leg that it is in now. */
  line: Line;
  /** The last response of the server. */
  response: RpcResponse | undefined;
  /** How many questions the server has asked. */
  questions = 0;
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
      const { result, error } = await this.#responded(this.line.send({ ...params, ...leg }));
      if (error)
        throw error.code === METHOD_NOT_FOUND || error.code === INVALID_PARAMS
          ? new NotPerformed(error.message)
          : new Error(error.message);
      if (!isRecord(result)) return result;
      // A tool that runs only as a task of the server. Its result comes when that is over.
      if (params.task !== undefined && isRecord(result.task)) return this.#resultOf(result.task.taskId);
      if (result.resultType !== 'input_required') return result;
      this.questions += 1;
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

  async #resultOf(taskId: unknown): Promise<unknown> {
    const { result, error } = await this.#responded(this.line.send({ taskId }, { method: 'tasks/result' }));
    // Whatever went wrong, the task was started.
    if (error) throw new Error(error.message);
    return result;
  }

  async #responded(sent: Promise<RpcResponse>): Promise<RpcResponse> {
    this.response = await sent.catch((error: Error) => {
      throw new OutcomeUnknown(`The MCP server did not respond: ${error.message}`);
    });
    return this.response;
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
