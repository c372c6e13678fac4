// The connection to one server: sends calls, and keeps the open requests of older servers that wait for an answer.
import type {
  CallToolResult,
  Client,
  ElicitRequestParams,
  ElicitResult,
  InputRequiredResult,
  Tool as ServerTool,
} from '@modelcontextprotocol/client';
import { NotPerformed } from '../core/errors.ts';
import { untilAborted } from '../models/abort.ts';
import { failureOf, LostRequest, ServerFault } from './failure.ts';
import { resultOfTask, runsAsTask, startTask, untilSettled } from './server-task.ts';
import { SilenceTimer } from './silence-timer.ts';

/** The part of a connected client of `@modelcontextprotocol/client` 2 that is used. */
export type McpClient = Pick<
  Client,
  | 'callTool'
  | 'getProtocolEra'
  | 'getServerCapabilities'
  | 'listTools'
  | 'listen'
  | 'request'
  | 'setNotificationHandler'
  | 'setRequestHandler'
  | 'transport'
>;

/** What the server answered: its result, or requests by their keys. */
export type Reply = { readonly result: CallToolResult } | Questions;

export type Questions = {
  readonly result?: never;
  readonly requests: { readonly [key: string]: ElicitRequestParams };
  /** The server continues from this. */
  readonly requestState?: string;
  /** The id of the open request, in this process, that waits for the answer. */
  readonly parked?: string;
};

/** Requests of the server, with the answers of people. */
export type Answered = Questions & { readonly answers: { readonly [key: string]: ElicitResult } };

export type Sending = {
  readonly tool: ServerTool;
  readonly input: unknown;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly answered?: Answered | undefined;
  /** The task that the server runs the call as. */
  readonly taskId?: string | undefined;
};

/** The answer of a person may take long; after this time an older server is told that none will come. */
const PARKED_MS = 24 * 3_600_000;
/** A server that only asks for patience is called again, but not more often. */
const POLL_MS = 1_000;
/** Our own timer ends requests. */
const NEVER_MS = 2_147_483_647;
/** The key of the only request of an older server. */
const KEY = 'question';

/** One per client: an older server does not say which call its request is about. */
const connections = new WeakMap<McpClient, Connection>();

export function connectionOf(client: McpClient): Connection {
  const known = connections.get(client) ?? new Connection(client);
  connections.set(client, known);
  return known;
}

export class Connection {
  readonly #client: McpClient;
  readonly #parked = new Map<string, OpenCall>();
  /** The call of an older server that is under way. */
  #current: OpenCall | undefined;
  #last: Promise<void> = Promise.resolve();
  readonly #isAsked: boolean;

  constructor(client: McpClient) {
    this.#client = client;
    this.#isAsked = client.getProtocolEra() === 'legacy' && this.#listen();
  }

  async send(sending: Sending): Promise<Reply> {
    if (!this.#client.transport && sending.taskId === undefined)
      throw new NotPerformed('the MCP client is not connected');
    const { taskId, answered } = sending;
    try {
      // Other calls go on meanwhile.
      if (taskId !== undefined && !answered) await untilSettled(this.#client, taskId, sending);
      if (this.#isAsked) return await this.#inTurn(sending);
      if (answered?.parked !== undefined) throw new LostRequest();
      return await this.#open(sending).next();
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** Starts the call as a task of the server, and resolves with its id. */
  async begin(sending: Sending): Promise<string> {
    if (!this.#client.transport) throw new NotPerformed('the MCP client is not connected');
    try {
      return await startTask(this.#client, sending.tool, sending.input, sending);
    } catch (error) {
      throw failureOf(error);
    }
  }

  runsAsTask(tool: ServerTool): boolean {
    return runsAsTask(this.#client, tool);
  }

  /** False if the client does not declare that it can be asked. */
  #listen(): boolean {
    try {
      this.#client.setRequestHandler(
        'elicitation/create',
        async ({ params }) => this.#current?.ask(params) ?? { action: 'cancel' },
      );
      return true;
    } catch {
      return false;
    }
  }

  /** One at a time, so that a request belongs to the call that is under way. A call that waits for a person lets others go. */
  async #inTurn(sending: Sending): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#last;
    this.#last = promise;
    try {
      await before;
      if (sending.signal.aborted) throw new NotPerformed('the run was stopped');
      const open = sending.answered ? this.#continued(sending.answered, sending.signal) : this.#open(sending);
      this.#current = open;
      const reply = await open.next();
      return reply.result ? reply : { ...reply, parked: this.#park(open) };
    } finally {
      this.#current = undefined;
      resolve();
    }
  }

  #open(sending: Sending): OpenCall {
    const timer = new SilenceTimer(sending.timeoutMs);
    timer.start(sending.signal);
    return new OpenCall(timer, this.#request(sending, timer));
  }

  /** Gives an older server the answer that its open request waits for. */
  #continued({ parked = '', answers }: Answered, signal: AbortSignal): OpenCall {
    const open = this.#parked.get(parked);
    if (!open) throw new LostRequest();
    this.#parked.delete(parked);
    open.timer.start(signal);
    open.answer(answers[KEY] ?? CANCEL);
    return open;
  }

  #park(open: OpenCall): string {
    const id = crypto.randomUUID();
    this.#parked.set(id, open);
    setTimeout(() => this.#parked.delete(id) && open.answer(CANCEL), PARKED_MS).unref();
    return id;
  }

  async #request({ tool, input, answered, taskId, signal }: Sending, timer: SilenceTimer): Promise<Reply> {
    if (taskId !== undefined) {
      const result = await resultOfTask(this.#client, taskId, { signal: timer.signal, timeoutMs: NEVER_MS });
      if (!Array.isArray(result.content)) throw new ServerFault(`the result of the task ${taskId} has no content`);
      return { result: result as CallToolResult };
    }
    // The engine checks the output, also when the server first asks.
    const { outputSchema: _output, ...toolDefinition } = tool;
    const params = { name: tool.name, arguments: input as { [key: string]: unknown } };
    let more = answered && { inputResponses: answered.answers, ...stateOf(answered) };
    for (;;) {
      const sentAt = performance.now();
      const result = await this.#client.callTool(more ? { ...params, ...more } : params, {
        toolDefinition,
        allowInputRequired: true,
        signal: timer.signal,
        timeout: NEVER_MS,
        onprogress: () => timer.heard(),
      });
      if (!isInputRequired(result)) return { result };
      const requests = questionsOf(result);
      if (Object.keys(requests).length > 0) return { requests, ...stateOf(result) };
      more = { inputResponses: {}, ...stateOf(result) };
      timer.stop();
      await untilAborted(pause(POLL_MS - (performance.now() - sentAt)), signal);
      timer.start(signal);
    }
  }
}

/** A request that the server has not answered. */
class OpenCall {
  readonly timer: SilenceTimer;
  readonly #reply: Promise<Reply>;
  #heard: ((question: ElicitRequestParams) => void) | undefined;
  #answer: ((answer: ElicitResult) => void) | undefined;

  constructor(timer: SilenceTimer, reply: Promise<Reply>) {
    this.timer = timer;
    this.#reply = reply;
    // It may fail while a person is asked.
    reply.catch(() => undefined);
  }

  /** The server asks over the open connection. */
  ask(question: ElicitRequestParams): Promise<ElicitResult> {
    return new Promise((answer) => {
      this.#answer = answer;
      this.#heard?.(question);
    });
  }

  answer(answer: ElicitResult): void {
    this.#answer?.(answer);
  }

  /** The result, or the next request. */
  async next(): Promise<Reply> {
    try {
      const asked = new Promise<Reply>((resolve) => {
        this.#heard = (question) => resolve({ requests: { [KEY]: question } });
      });
      return await Promise.race([this.#reply, asked]);
    } finally {
      this.timer.stop();
    }
  }
}

const CANCEL: ElicitResult = { action: 'cancel' };

const isInputRequired = (result: object): result is InputRequiredResult =>
  'resultType' in result && result.resultType === 'input_required';

const stateOf = ({ requestState }: { readonly requestState?: string }): { readonly requestState?: string } =>
  requestState === undefined ? {} : { requestState };

function questionsOf({ inputRequests = {} }: InputRequiredResult): Questions['requests'] {
  const asked = Object.entries(inputRequests).map(([key, request]) => {
    if (request.method === 'elicitation/create') return [key, request.params] as const;
    throw new ServerFault(`the server asks for ${request.method}, which is not offered here`);
  });
  return Object.fromEntries(asked);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
