// The gate of an MCP gateway: holds the calls that its rules name, asks, and sends each of them at most once.
import { randomUUID } from 'node:crypto';
import { type Countersign, type Gate, type GateResult, gateText, type Json } from 'countersign';
import { internalsOf } from 'countersign/store';
import { defined } from '../defined.ts';
import { decidedWithin } from '../gate-calls.ts';
import { isRecord } from '../is-record.ts';
import { jsonHash } from '../json-hash.ts';
import { responseOf } from './calls/call-response.ts';
import { RunningCalls } from './calls/running-call.ts';
import { addsTasks, declaresTasks, isLegacyTask, offersTask, sentParams } from './calls/task-forms.ts';
import { Tasks } from './calls/tasks.ts';
import { decideFrom, decisionForm, showsForms } from './client-decision.ts';
import { CANCELLED, type Line } from './line.ts';
import {
  failure,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isModern,
  type Params,
  progressTokenOf,
  type RpcRequest,
  type RpcResponse,
  refusal,
} from './messages.ts';
import { OpenCalls, type Ticket } from './open-calls.ts';
import { descriptionOf, judge, type McpRules, type McpTool, observedTool } from './rules.ts';
import { type CallState, type SealedState, sealedState } from './sealed-state.ts';

export type McpGateOptions = {
  readonly ai: Countersign;
  /** The name of the MCP server, as its operator chose it: part of the names of its tools in the inbox. */
  readonly name: string;
  readonly rules?: McpRules;
  /** How long a call waits for a decision before its client gets an answer. Clients time out after 60 seconds by default. */
  readonly holdMs?: number;
  /** Lets the user of the client decide in the client. Its model may be able to answer in their place. */
  readonly decideInClient?: boolean;
  readonly onError?: (error: unknown) => void;
};

/** The agent name of its calls, for people and for rules. */
const GATE = 'gate';
/** How often a waiting client is told so. */
const TICK_MS = 15_000;
/** After so much waiting in one leg, the call runs in the next one, with the whole timeout of its client. */
const FRESH_LEG_MS = 10_000;

/** One leg of a call that is gated. */
type Leg = {
  readonly request: RpcRequest;
  readonly line: Line;
  readonly gate: Gate;
  readonly tool: string;
  readonly input: Params;
  /** What the server gets, but for the arguments. */
  readonly params: Params;
  /** The client of an older protocol expects a task. */
  readonly isTask: boolean;
  readonly ticket: Ticket;
  readonly digest: string;
  /** The first leg of a client that can come back. */
  readonly isFirst: boolean;
  /** The form that the client was shown. */
  readonly asked?: CallState['asked'];
};

/** A response, and what it makes of the call: it is over, an equal call continues it, or the client comes back with its state. */
type Answer = { readonly response: RpcResponse; readonly next: 'over' | 'release' | 'pause' };

export class McpGate {
  readonly #options: McpGateOptions;
  readonly #states: SealedState;
  readonly #calls: OpenCalls;
  readonly #running = new RunningCalls();
  readonly #tasks: Tasks;

  static async open(options: McpGateOptions): Promise<McpGate> {
    const gate = new McpGate(options, await sealedState(options.ai.runs.notes, options.name));
    // It waits for the leases of processes that are gone.
    gate.#calls
      .recover((key) => gate.#running.get(key) !== undefined)
      .catch((error: unknown) => options.onError?.(error));
    return gate;
  }

  private constructor(options: McpGateOptions, states: SealedState) {
    this.#options = options;
    this.#states = states;
    this.#calls = new OpenCalls(options.ai);
    this.#tasks = new Tasks({ ...options, states, calls: this.#calls, running: this.#running });
  }

  /** Handles one `tools/call` to its end: passes it on, refuses it, or asks. Or a request about a task. Never rejects. */
  async handle(request: RpcRequest, line: Line): Promise<void> {
    try {
      if (request.method !== 'tools/call') return await this.#tasks.handle(request, line);
      // The reader has checked both.
      const { name, arguments: input = {} } = request.params as { readonly name: string; readonly arguments?: Params };
      const tool = (await line.tool(name)) ?? { name };
      const { rules = {} } = this.#options;
      const judged = judge(rules, { tool, input, agent: GATE });
      const isTask = isLegacyTask(request) && (judged.then === 'ask' || offersTask(rules, tool));
      if (judged.then === 'run') {
        if (judged.observed) await this.#observe(line, tool, input);
        const passed = isTask ? this.#tasks.allowed(request, line, tool) : line.pass();
        return await passed.catch((error: Error) => this.#lost(request, line, error));
      }
      if (judged.then === 'deny')
        return await line.deliver(refused(request, isTask, `${name} was not run: ${judged.why}`));
      const leg = await this.#begin(request, line, { tool, input, isTask });
      if ('gate' in leg) await this.#answer(leg);
      else await line.deliver(leg);
    } catch (error) {
      this.#options.onError?.(error);
      // What is not known to be allowed does not run.
      const what =
        request.method === 'tools/call' ? 'The gateway failed, and the tool was not run' : 'The gateway failed';
      const message = `${what}: ${(error as Error).message}`;
      if (!line.signal.aborted) await line.deliver(failure(request, INTERNAL_ERROR, message)).catch(() => undefined);
    }
  }

  /** Records whom the rules would have asked. The call runs as it would have, even if the record fails. */
  async #observe({ by }: Line, tool: McpTool, input: Params): Promise<void> {
    const { name, ai, rules = {}, onError } = this.#options;
    const description = observedTool(rules, descriptionOf(name, tool, rules));
    const call = { input: input as Json, key: `mcp:${randomUUID()}`, by };
    await internalsOf(ai)
      .observeCall(GATE, description, call)
      .catch((error: unknown) => onError?.(error));
  }

  /** An allowed call has no record. It may have run. */
  async #lost(request: RpcRequest, line: Line, error: Error): Promise<void> {
    const message = `The MCP server did not respond, and the tool may have run: ${error.message}`;
    if (!line.signal.aborted) await line.deliver(failure(request, INTERNAL_ERROR, message));
  }

  /** What the gateway adds to the response to this request; undefined if it adds nothing. */
  addsTo(request: RpcRequest): ((response: RpcResponse) => RpcResponse) | undefined {
    return addsTasks(request, this.#options.rules ?? {});
  }

  /** Resolves once no call is sent without its result on record. Calls that wait for an answer of their client are in doubt. */
  close(): Promise<void> {
    return this.#running.close();
  }

  async #begin(
    request: RpcRequest,
    line: Line,
    { tool, input, isTask }: { tool: McpTool; input: Params; isTask: boolean },
  ): Promise<Leg | RpcResponse> {
    const { name, ai, rules = {} } = this.#options;
    const { person, client } = line;
    const digest = jsonHash([tool.name, input]);
    const identity = jsonHash([name, person, digest]);
    const { requestState: sealed } = request.params ?? {};
    const description = descriptionOf(name, tool, rules);
    const params = sentParams(request.params, tool);
    const gate = ai.gate(description, { name: GATE });
    const rest = { request, line, tool: tool.name, input, params, isTask, digest, gate };
    const place = { tool: description.name, client };
    if (!isModern(request) || sealed === undefined) {
      const runsHere = (key: string) => this.#running.get(key) !== undefined;
      const ticket = await this.#calls.take(identity, { ...place, runsHere, newKey: () => `mcp:${randomUUID()}` });
      return { ...rest, ticket, isFirst: true };
    }
    const state = typeof sealed === 'string' ? await this.#states.open(sealed, person) : undefined;
    if (!state) return failure(request, INVALID_PARAMS, 'Invalid or expired requestState');
    if (state.digest !== digest)
      return failure(
        request,
        INVALID_PARAMS,
        'The requestState is that of a call with other arguments. Nothing was run.',
      );
    const ticket = await this.#calls.resume(identity, state.key, place);
    return { ...rest, ticket, isFirst: false, asked: state.asked };
  }

  async #answer(leg: Leg): Promise<void> {
    const { ticket, line } = leg;
    const timer = setInterval(() => line.tick(), TICK_MS);
    try {
      await ticket.keep();
      const { response, next } = await this.#respond(leg);
      if (line.signal.aborted) return await this.#abandon(leg);
      // A client that reads it may call again at once. Only an answer that is the last one ends the call after it was sent.
      if (next !== 'over') await ticket[next]();
      await line.deliver(response);
      if (next === 'over') await ticket.over();
    } catch (error) {
      if (!line.signal.aborted) throw error;
      await this.#abandon(leg);
    } finally {
      clearInterval(timer);
      await ticket.pause();
    }
  }

  /** The client no longer waits. A request that it cancelled is withdrawn; others stay open, for an equal call to continue. */
  async #abandon({ line, gate, ticket }: Leg): Promise<void> {
    if (line.signal.reason !== CANCELLED) return ticket.release();
    const { status } = await gate.withdraw({ key: ticket.key }, { reason: CANCELLED });
    await (status === 'doubt' ? ticket.release() : ticket.over());
  }

  async #respond(leg: Leg): Promise<Answer> {
    const { request, ticket, gate, input } = leg;
    const { by, signal } = leg.line;
    const begun = performance.now();
    if (!this.#running.get(ticket.key)) {
      const { person, client } = leg.line;
      const conversation = client === undefined ? undefined : jsonHash(['mcp', person, client]);
      const first = await gate.request(input, { key: ticket.key, by, ...defined({ conversation }) }).catch(asInvalid);
      if (typeof first === 'string') return { response: refused(request, leg.isTask, first), next: 'over' };
      if (first.status === 'pending') await this.#askClient(leg, first.id);
      if (leg.isTask) return this.#asTask(leg);
      const result = await decidedWithin(gate, first, this.#holdMs(leg), signal);
      if (result.status === 'pending') return this.#waits(leg, result);
      if (result.status !== 'approved') return answerOf(leg, result);
      if (isModern(request) && performance.now() - begun > FRESH_LEG_MS) return this.#waits(leg, result);
      await ticket.sent();
    }
    if (leg.isTask) return this.#asTask(leg);
    signal.throwIfAborted();
    const { call, outcome } = this.#running.run({ ...leg, key: ticket.key });
    call.answer(request.params?.inputResponses);
    const ended = await Promise.race([outcome, call.asked()]);
    if (!('runId' in ended)) return this.#asks(leg, ended);
    if (ended.status === 'approved' && ended.frozen) return this.#frozen(leg);
    if (ended.status === 'failed' && call.response?.error)
      return { response: { jsonrpc: '2.0', id: request.id, error: call.response.error }, next: 'over' };
    return answerOf(leg, ended as GateResult);
  }

  /** Waits until people have lifted the freeze. */
  async #frozen(leg: Leg): Promise<Answer> {
    const { request, ticket, gate, line } = leg;
    await ticket.unsent();
    const timeout = this.#holdMs(leg);
    const result = await gate.wait({ key: ticket.key }, { ...defined({ timeout }), signal: line.signal });
    const isFrozen = result.status === 'approved' && result.frozen !== undefined;
    return isFrozen || isModern(request) ? this.#waits(leg, result) : this.#respond(leg);
  }

  /** Takes the decision of the client, if the operator allows it. An older client is asked now, a newer one in the answer. */
  async #askClient(leg: Leg, id: string): Promise<void> {
    const { ai, decideInClient = false, onError } = this.#options;
    const { request, line, asked } = leg;
    const { by, elicit } = line;
    if (!decideInClient || declaresTasks(request)) return;
    if (isModern(request)) {
      const { inputResponses } = request.params ?? {};
      if (asked && isRecord(inputResponses))
        await decideFrom(ai, { id, by, digest: asked.card }, inputResponses.decision);
      return;
    }
    if (!elicit) return;
    const { params, digest } = await decisionForm(ai, id, by);
    elicit(params)
      .then((answer) => decideFrom(ai, { id, by, digest }, answer))
      .catch((error: unknown) => onError?.(error));
  }

  /** A client that can come back gets its state at once. One that hears of progress waits without end. */
  #holdMs({ request, isFirst }: Leg): number | undefined {
    const { holdMs = 50_000 } = this.#options;
    if (isModern(request)) return isFirst ? 0 : holdMs;
    return progressTokenOf(request) === undefined ? holdMs : undefined;
  }

  async #waits(leg: Leg, result: GateResult): Promise<Answer> {
    const { request, tool, gate, ticket, line } = leg;
    const { ai, decideInClient = false } = this.#options;
    if (declaresTasks(request)) return this.#asTask(leg);
    if (isModern(request)) {
      const asks = decideInClient && !leg.asked && showsForms(request) && result.status === 'pending';
      const form = asks ? await decisionForm(ai, result.id, line.by) : undefined;
      const decision = form && { method: 'elicitation/create', params: form.params };
      const asked = form ? { ...(form.digest !== undefined && { card: form.digest }) } : leg.asked;
      const question = { resultType: 'input_required', ...(decision && { inputRequests: { decision } }) };
      return this.#asks({ ...leg, asked }, question);
    }
    const frozen = result.status === 'approved' && result.frozen;
    if (line.client === undefined) {
      // Another client could continue it.
      await gate.withdraw({ key: ticket.key }, { reason: 'its client cannot be recognised when it calls again' });
      const why = frozen ? `is frozen (${frozen.reason})` : 'was not approved in time';
      const text = `${tool} ${why}, and was not run. Its request is withdrawn: a client without a token and a session cannot continue it.`;
      return { response: refusal(request, text), next: 'over' };
    }
    const id = 'id' in result ? ` (${result.id})` : '';
    const text = `${frozen ? gateText(tool, result) : `${tool} waits for a person's approval${id}. It was not run.`} Call it again with the same arguments to continue waiting.`;
    return { response: refusal(request, text), next: 'release' };
  }

  /** The client asks for the task until it is over. */
  async #asTask({ request, line, tool, ticket, digest }: Leg): Promise<Answer> {
    return { response: await this.#tasks.begun(request, line, { key: ticket.key, digest, tool }), next: 'pause' };
  }

  /** The client repeats the call with our state. The state of the server stays here. */
  async #asks({ request, ticket, digest, line, asked }: Leg, result: Params): Promise<Answer> {
    const state = { key: ticket.key, digest, ...(asked && { asked }) };
    const requestState = await this.#states.seal(state, line.person);
    return { response: { jsonrpc: '2.0', id: request.id, result: { ...result, requestState } }, next: 'pause' };
  }
}

/** A client that expects a task cannot read a result in its place. */
const refused = (request: RpcRequest, isTask: boolean, text: string): RpcResponse =>
  isTask ? failure(request, INVALID_PARAMS, text) : refusal(request, text);

/** A doubt stays open: an equal call continues it, and gets the outcome once a person has told it. */
const answerOf = (leg: Leg, result: GateResult): Answer => ({
  response: responseOf(leg.request, leg, result),
  next: result.status === 'doubt' ? 'release' : 'over',
});

/** The text for the model if its arguments do not fit the schema of the tool. */
function asInvalid(error: Error & { readonly code?: string }): string {
  if (error.code === 'invalid-request') return error.message;
  throw error;
}
