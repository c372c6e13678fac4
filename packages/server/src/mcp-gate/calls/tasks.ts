// Calls that wait for people as tasks of MCP. The id of a task names its call, sealed for its person; its state is that of the run.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Countersign, type Gate, type GateResult, gateText } from 'countersign';
import { isRecord } from '../../is-record.ts';
import { jsonHash } from '../../json-hash.ts';
import { decideFrom, decisionForm, showsForms } from '../client-decision.ts';
import { CANCELLED, type Line } from '../line.ts';
import {
  failure,
  INVALID_PARAMS,
  isModern,
  METHOD_NOT_FOUND,
  type Params,
  type RpcRequest,
  type RpcResponse,
} from '../messages.ts';
import type { OpenCalls, Ticket } from '../open-calls.ts';
import { descriptionOf, type McpRules, type McpTool } from '../rules.ts';
import type { CallState, SealedState } from '../sealed-state.ts';
import { responseOf } from './call-response.ts';
import { isKept, keepResponse, keptAnswer } from './kept-responses.ts';
import type { RunningCalls } from './running-call.ts';
import {
  acknowledged,
  declaresTasks,
  sentParams,
  type Task,
  type TaskState,
  taskBegun,
  taskNotFound,
  taskResult,
  taskTold,
  timesOf,
  undeclared,
} from './task-forms.ts';

export type TasksOptions = {
  readonly ai: Countersign;
  /** The name of the MCP server. */
  readonly name: string;
  readonly rules?: McpRules;
  readonly decideInClient?: boolean;
  readonly onError?: (error: unknown) => void;
  readonly states: SealedState;
  readonly calls: OpenCalls;
  readonly running: RunningCalls;
};

/** The call that a task stands for. */
type TaskCall = {
  readonly request: RpcRequest;
  readonly line: Line;
  readonly taskId: string;
  readonly tool: string;
  readonly gate: Gate;
  readonly ticket: Ticket;
};

/** What its gate says about a call; a question of the MCP server; or that it was sent and has no result yet. */
type Seen = GateResult | { readonly status: 'asks'; readonly question: Params } | { readonly status: 'sent' };

/** How long an answer waits for news. */
const MOMENT_MS = 1_000;
/** How long `tasks/result` waits between two looks. */
const LOOK_MS = 30_000;

export class Tasks {
  readonly #options: TasksOptions;

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  /** The answer to a call that was asked for, and becomes a task. */
  async begun(request: RpcRequest, line: Line, state: CallState & { readonly tool: string }): Promise<RpcResponse> {
    const taskId = await this.#options.states.seal(state, line.person);
    const call = { request, taskId, gate: this.#gateOf(state.tool), key: state.key };
    const message = `${state.tool} waits for a person's decision.`;
    return taskBegun(request, await this.#taskOf(call, { status: 'working', statusMessage: message }));
  }

  /** Sends a call that the rules allow, for a client that expects a task: its response is kept for a day. */
  async allowed(request: RpcRequest, line: Line, tool: McpTool): Promise<void> {
    const response = await line.send(sentParams(request.params, tool));
    const { key, at } = await keepResponse(this.#options.ai.runs.notes, response);
    const taskId = await this.#options.states.seal({ key, digest: '', tool: tool.name }, line.person);
    await line.deliver(taskBegun(request, { taskId, status: 'working', ...timesOf(at) }));
  }

  /** Answers a request about a task. Those about tasks that are not of this person and gateway go to the MCP server. */
  async handle(request: RpcRequest, line: Line): Promise<void> {
    const { taskId } = request.params as { readonly taskId: string };
    const state = await this.#options.states.open(taskId, line.person);
    if (state?.tool === undefined) return line.pass();
    if (isModern(request) && !declaresTasks(request)) return line.deliver(undeclared(request));
    const { key, digest, tool } = state;
    if (isKept(key)) return line.deliver(await keptAnswer(this.#options.ai.runs.notes, request, { taskId, key }));
    const gate = this.#gateOf(tool);
    const place = { tool: this.#recorded(tool), client: line.client };
    const ticket = await this.#options.calls.resume(jsonHash([this.#options.name, line.person, digest]), key, place);
    const call = { request, line, taskId, tool, gate, ticket };
    try {
      await line.deliver(await this.#answer(call).catch((error) => notFound(request, error)));
    } catch (error) {
      if (!line.signal.aborted) throw error;
    }
  }

  async #answer(call: TaskCall): Promise<RpcResponse> {
    const { request } = call;
    const answers = isModern(request) ? MODERN : LEGACY;
    switch (answers.find((method) => method === request.method)) {
      case 'tasks/get':
        return taskTold(request, await this.#look(call, MOMENT_MS));
      case 'tasks/result':
        for (;;) {
          const task = await this.#look(call, LOOK_MS);
          if (task.result) return taskResult(request, task);
          if (task.status === 'cancelled') return failure(request, INVALID_PARAMS, 'The task was cancelled.');
        }
      case 'tasks/update':
        await this.#update(call);
        return acknowledged(request);
      case 'tasks/cancel':
        return this.#cancel(call);
      case undefined:
        return failure(request, METHOD_NOT_FOUND, `Unknown method ${request.method}.`);
    }
  }

  /** The task as it is after a moment. Its call is sent if it may run. */
  async #look(call: TaskCall, withinMs: number): Promise<Task> {
    const { ticket, line } = call;
    await ticket.keep();
    try {
      const seen = await this.#seen(call, withinMs);
      const task = await this.#taskOf({ ...call, key: ticket.key }, await this.#stateOf(call, seen));
      line.signal.throwIfAborted();
      if (!OPEN.includes(task.status)) await ticket.over();
      return task;
    } finally {
      await ticket.pause();
    }
  }

  async #seen(call: TaskCall, withinMs: number): Promise<Seen> {
    const { gate, line, ticket } = call;
    const { key } = ticket;
    if (!this.#options.running.get(key)) {
      const result = await gate.wait({ key }, { timeout: withinMs, signal: line.signal });
      if (result.status !== 'approved' || result.frozen) return result;
      await this.#send(call);
    }
    const running = this.#options.running.get(key);
    if (!running) return gate.read({ key });
    const late = sleep(withinMs, { status: 'sent' } as const, { ref: false });
    const asked = running.call.asked().then((question) => ({ status: 'asks', question }) as const);
    const seen = await Promise.race([running.outcome, asked, late]);
    if (seen.status !== 'asks' || Object.keys(requestsIn(seen.question)).length > 0) return seen;
    // The server only asks for patience.
    running.call.answer({});
    return { status: 'sent' };
  }

  /** Sends the approved call, for the client that asks about it: with its credentials, and over its connection. */
  async #send({ request, line, tool: name, gate, ticket }: TaskCall): Promise<void> {
    const { running, onError } = this.#options;
    const tool = (await line.tool(name)) ?? { name };
    const input = await this.#inputOf(gate.runId(ticket.key));
    const { taskId: _id, _meta: meta = {}, ...params } = sentParams(request.params, tool);
    const { progressToken: _token, ..._meta } = meta as Params;
    const sent = { ...params, name, ...(Object.keys(_meta).length > 0 && { _meta }) };
    const detached: Line = { ...line, send: (own, more) => line.send(own, { ...more, isDetached: true }) };
    await ticket.sent();
    const { outcome } = running.run({ gate, key: ticket.key, input, line: detached, params: sent });
    outcome
      .then((result) => (result.status === 'approved' && result.frozen ? ticket.unsent() : undefined))
      .catch((error: unknown) => onError?.(error));
  }

  /** What the client asked for, as recorded before any edit. */
  async #inputOf(runId: string): Promise<unknown> {
    for (const event of await this.#options.ai.runs.recorded(runId)) {
      if (event.type !== 'model-replied') continue;
      for (const part of event.content) if ('toolRequest' in part && part.toolRequest) return part.toolRequest.input;
    }
    return undefined;
  }

  async #stateOf(call: TaskCall, seen: Seen): Promise<TaskState> {
    const { tool } = call;
    switch (seen.status) {
      case 'sent':
        return { status: 'working', statusMessage: `${tool} is running.` };
      case 'asks':
        return this.#questionOf(call, seen.question);
      case 'pending':
        return this.#pendingState(call, seen.id, gateText(tool, seen));
      case 'approved':
      case 'started':
      case 'doubt':
        return { status: 'working', statusMessage: gateText(tool, seen) };
      case 'failed':
      case 'rejected':
      case 'done':
        return this.#overState(call, seen);
    }
  }

  /** Where the operator allows it, the client is asked as well. */
  async #pendingState({ request, line }: TaskCall, id: string, statusMessage: string): Promise<TaskState> {
    const { ai, decideInClient = false } = this.#options;
    const form = decideInClient && showsForms(request) ? await decisionForm(ai, id, line.by) : undefined;
    if (form?.digest === undefined) return { status: 'working', statusMessage };
    const decision = { method: 'elicitation/create', params: form.params };
    return { status: 'input_required', statusMessage, inputRequests: { [`${DECISION}${form.digest}`]: decision } };
  }

  async #overState({ request, tool, gate, ticket }: TaskCall, result: GateResult): Promise<TaskState> {
    const runId = gate.runId(ticket.key);
    if (result.status === 'rejected' && (await this.#options.ai.runs.get(runId)).status === 'cancelled')
      return { status: 'cancelled', statusMessage: gateText(tool, result) };
    const response = responseOf(request, { tool, input: await this.#inputOf(runId) }, result);
    return { status: 'completed', result: response.result ?? {} };
  }

  /** The questions of the server under keys that are never used again. Over older protocols it has asked the client itself. */
  #questionOf({ ticket, tool }: TaskCall, question: Params): TaskState {
    const prefix = questionPrefix(this.#options.running.get(ticket.key)?.call.questions ?? 0);
    const asked = Object.entries(requestsIn(question)).map(([key, one]) => [`${prefix}${key}`, one]);
    return {
      status: 'input_required',
      statusMessage: `${tool} asks a question.`,
      inputRequests: Object.fromEntries(asked),
    };
  }

  /** Takes the answers of the client. Those to other questions than the open ones change nothing. */
  async #update({ request, gate, ticket: { key }, line: { by } }: TaskCall): Promise<void> {
    const { ai, decideInClient = false, running } = this.#options;
    const given = request.params?.inputResponses;
    if (!isRecord(given)) return;
    const call = running.get(key)?.call;
    if (call) {
      const prefix = questionPrefix(call.questions);
      const own = Object.entries(given).filter(([name]) => name.startsWith(prefix));
      if (own.length > 0)
        call.answer(Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value])));
      return;
    }
    const [name = '', answer] = Object.entries(given).find(([one]) => one.startsWith(DECISION)) ?? [];
    if (!decideInClient || name === '') return;
    const found = await gate.read({ key });
    if (found.status === 'pending')
      await decideFrom(ai, { id: found.id, by, digest: name.slice(DECISION.length) }, answer);
  }

  /** Withdraws the request. A call that was sent goes on: its outcome is told. */
  async #cancel(call: TaskCall): Promise<RpcResponse> {
    const { request, gate, ticket } = call;
    const { key } = ticket;
    const withdrawn = this.#options.running.get(key) ? undefined : gate.withdraw({ key }, { reason: CANCELLED });
    // Another gateway may run it.
    const result = await Promise.race([withdrawn, sleep(LOOK_MS, undefined, { ref: false })]);
    if (result?.status === 'rejected') await ticket.over();
    if (isModern(request)) return acknowledged(request);
    const state = result && (await this.#stateOf(call, result));
    if (state?.status === 'cancelled') return taskTold(request, await this.#taskOf({ ...call, key }, state));
    const why = state?.result ? 'is over' : 'was started';
    return failure(request, INVALID_PARAMS, `The call ${why}, so it cannot be cancelled.`);
  }

  async #taskOf({ taskId, gate, key }: { taskId: string; gate: Gate; key: string }, state: TaskState): Promise<Task> {
    const { createdAt, updatedAt } = await this.#options.ai.runs.get(gate.runId(key));
    return { taskId, ...state, ...timesOf(createdAt, updatedAt) };
  }

  #recorded(tool: string): string {
    const { name, rules = {} } = this.#options;
    return descriptionOf(name, { name: tool }, rules).name;
  }

  #gateOf = (tool: string): Gate => this.#options.ai.gate({ name: this.#recorded(tool) }, { name: 'gate' });
}

const OPEN = ['working', 'input_required'];
const MODERN = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;
const LEGACY = ['tasks/get', 'tasks/result', 'tasks/cancel'] as const;
/** A decision in the client is about the card with the digest that follows. */
const DECISION = 'decision-';
const questionPrefix = (count: number): string => `question-${count}-`;

const requestsIn = ({ inputRequests }: Params): Params => (isRecord(inputRequests) ? inputRequests : {});

/** The answer if the run of the task was deleted. */
function notFound(request: RpcRequest, error: { readonly code?: string }): RpcResponse {
  if (error.code === 'unknown-run') return taskNotFound(request);
  throw error;
}
