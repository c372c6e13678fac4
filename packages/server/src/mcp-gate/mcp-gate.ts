// The gate of an MCP gateway: holds the calls that its rules name, asks, and sends each of them at most once.
import { randomUUID } from 'node:crypto';
import { type Countersign, type Gate, type GateResult, gateText, type ToolDescription } from 'countersign';
import { defined } from '../defined.ts';
import { decideFrom, decisionForm, showsForms } from './client-decision.ts';
import { hashOf } from './hash-of.ts';
import { CANCELLED, type Line } from './line.ts';
import {
  failure,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isModern,
  isRecord,
  type Params,
  progressTokenOf,
  type RpcRequest,
  type RpcResponse,
  refusal,
} from './messages.ts';
import { type McpRule, type McpRules, type McpTool, ruleFor } from './rules.ts';
import { RunningCall } from './running-call.ts';
import { type SealedState, sealedState } from './sealed-state.ts';
import { type Claim, UnclaimedCalls } from './unclaimed-calls.ts';

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
  readonly claim: Claim;
  readonly digest: string;
  /** The first leg of a client that can come back. */
  readonly isFirst: boolean;
  /** The client was asked to decide. */
  readonly isAsked: boolean;
};

export class McpGate {
  readonly #options: McpGateOptions;
  readonly #states: SealedState;
  readonly #unclaimed: UnclaimedCalls;
  readonly #running = new Map<string, { readonly call: RunningCall; readonly outcome: Promise<GateResult> }>();

  static async open(options: McpGateOptions): Promise<McpGate> {
    return new McpGate(options, await sealedState(options.ai.runs.notes, options.name));
  }

  private constructor(options: McpGateOptions, states: SealedState) {
    this.#options = options;
    this.#states = states;
    this.#unclaimed = new UnclaimedCalls(options.ai.runs.notes);
  }

  /** Handles one `tools/call` to its end: passes it on, refuses it, or asks. Never rejects. */
  async handle(request: RpcRequest, line: Line): Promise<void> {
    try {
      const { name, arguments: given } = request.params ?? {};
      if (typeof name !== 'string') return await line.pass();
      const input = isRecord(given) ? given : {};
      const tool = (await line.tool(name)) ?? { name };
      const rule = ruleFor(this.#options.rules ?? {}, tool, input);
      if (rule.action === 'allow') return await line.pass();
      if (rule.action === 'deny') return await line.deliver(refusal(request, `${name} was not run: ${denial(rule)}`));
      const leg = await this.#begin(request, line, { tool, rule, input });
      if ('gate' in leg) await this.#answer(leg);
      else await line.deliver(leg);
    } catch (error) {
      this.#options.onError?.(error);
      // What is not known to be allowed does not run.
      const message = `The gateway failed, and the tool was not run: ${(error as Error).message}`;
      if (!line.signal.aborted) await line.deliver(failure(request, INTERNAL_ERROR, message)).catch(() => undefined);
    }
  }

  /** Resolves once no call is sent without its result on record. Calls that wait for an answer of their client are in doubt. */
  async close(): Promise<void> {
    for (const { call } of this.#running.values()) call.abandon();
    await Promise.allSettled([...this.#running.values()].map(({ outcome }) => outcome));
  }

  async #begin(
    request: RpcRequest,
    line: Line,
    { tool, rule, input }: { tool: McpTool; rule: McpRule; input: Params },
  ): Promise<Leg | RpcResponse> {
    const { name, ai } = this.#options;
    const digest = hashOf([tool.name, input]);
    const identity = hashOf([name, line.principal, digest]);
    const { requestState: sealed } = request.params ?? {};
    const rest = { request, line, tool: tool.name, input, digest, gate: ai.gate(descriptionOf(name, tool, rule)) };
    if (!isModern(request) || sealed === undefined) {
      const claim = await this.#unclaimed.take(identity, () => `mcp:${randomUUID()}`);
      return { ...rest, claim, isFirst: true, isAsked: false };
    }
    const state = typeof sealed === 'string' ? await this.#states.open(sealed, line.principal) : undefined;
    if (!state) return failure(request, INVALID_PARAMS, 'Invalid or expired requestState');
    if (state.digest !== digest)
      return failure(
        request,
        INVALID_PARAMS,
        'The requestState is that of a call with other arguments. Nothing was run.',
      );
    const claim = this.#unclaimed.claim(identity, state.key);
    return { ...rest, claim, isFirst: false, isAsked: state.asked === true };
  }

  async #answer(leg: Leg): Promise<void> {
    const { claim, line } = leg;
    const timer = setInterval(() => line.tick(), TICK_MS);
    try {
      await claim.keep();
      const response = await this.#respond(leg);
      if (line.signal.aborted) return await this.#abandon(leg);
      await line.deliver(response);
      if (!('waits' in response)) await claim.answered();
      else if (!isModern(leg.request)) await claim.release();
    } catch (error) {
      if (!line.signal.aborted) throw error;
      await this.#abandon(leg);
    } finally {
      clearInterval(timer);
      await claim.pause();
    }
  }

  /** The client no longer waits. A question that it cancelled is withdrawn; others stay open, for the same call to continue. */
  async #abandon({ line, gate, claim }: Leg): Promise<void> {
    if (line.signal.reason !== CANCELLED) return claim.release();
    await gate.withdraw({ key: claim.key }, { reason: CANCELLED });
    await claim.answered();
  }

  /** With `waits`, the call is not over. */
  async #respond(leg: Leg): Promise<RpcResponse | (RpcResponse & { readonly waits: true })> {
    const { request, claim, gate, input } = leg;
    const { by, signal } = leg.line;
    const begun = performance.now();
    if (!this.#running.has(claim.key)) {
      const first = await gate.request(input, { key: claim.key, by }).catch(asInvalid);
      if (typeof first === 'string') return refusal(request, first);
      if (first.status === 'pending') await this.#askClient(leg, first.id);
      const result = await waited(gate, first, this.#holdMs(leg), signal);
      if (result.status === 'pending') return this.#waits(leg, result);
      if (result.status !== 'approved') return responseOf(leg, result);
      if (isModern(request) && performance.now() - begun > FRESH_LEG_MS) return this.#waits(leg, result);
    }
    signal.throwIfAborted();
    const { call, outcome } = this.#run(leg);
    call.answer(request.params?.inputResponses);
    const ended = await Promise.race([outcome, call.asked()]);
    if (!('runId' in ended)) return this.#asks(leg, ended);
    if (ended.status === 'failed' && call.response?.error)
      return { jsonrpc: '2.0', id: request.id, error: call.response.error };
    return responseOf(leg, ended as GateResult);
  }

  /** Takes the decision of the client, if the operator allows it. An older client is asked now, a newer one in the answer. */
  async #askClient(leg: Leg, id: string): Promise<void> {
    const { ai, decideInClient = false, onError } = this.#options;
    const { request, line, tool, input } = leg;
    if (!decideInClient) return;
    if (isModern(request)) {
      const { inputResponses } = request.params ?? {};
      if (leg.isAsked && isRecord(inputResponses)) await decideFrom(ai, id, line.by, inputResponses.decision);
      return;
    }
    const asked = line.elicit?.(decisionForm(tool, input));
    asked?.then((answer) => decideFrom(ai, id, line.by, answer)).catch((error: unknown) => onError?.(error));
  }

  /** A client that can come back gets its state at once. One that hears of progress waits without end. */
  #holdMs({ request, isFirst }: Leg): number | undefined {
    const { holdMs = 50_000 } = this.#options;
    if (isModern(request)) return isFirst ? 0 : holdMs;
    return progressTokenOf(request) === undefined ? holdMs : undefined;
  }

  #run(leg: Leg) {
    const { claim, gate, input, line, request } = leg;
    const known = this.#running.get(claim.key);
    if (known) {
      known.call.line = line;
      return known;
    }
    const call = new RunningCall(line);
    const { requestState: _state, inputResponses: _responses, ...params } = request.params ?? {};
    const run = (edited: unknown) => call.send({ ...params, arguments: edited });
    const outcome = gate.request(input, { key: claim.key, by: line.by, run });
    const running = { call, outcome };
    this.#running.set(claim.key, running);
    const over = () => void this.#running.delete(claim.key);
    outcome.then(over, over);
    return running;
  }

  async #waits(leg: Leg, result: GateResult): Promise<RpcResponse & { readonly waits: true }> {
    const { request, tool } = leg;
    if (isModern(request)) {
      const asks = this.#options.decideInClient && !leg.isAsked && showsForms(request) && result.status === 'pending';
      const decision = { method: 'elicitation/create', params: decisionForm(tool, leg.input) };
      return this.#asks(leg, { resultType: 'input_required', ...(asks && { inputRequests: { decision } }) });
    }
    const id = 'id' in result ? ` (${result.id})` : '';
    const text = `${tool} waits for a person's approval${id}. It was not run. Call it again with the same arguments to continue waiting.`;
    return { ...refusal(request, text), waits: true };
  }

  /** The client repeats the call with our state. The state of the server stays here. */
  async #asks(leg: Leg, result: Params): Promise<RpcResponse & { readonly waits: true }> {
    const { request, claim, digest, line } = leg;
    const asked = leg.isAsked || 'inputRequests' in result;
    const requestState = await this.#states.seal({ key: claim.key, digest, ...(asked && { asked }) }, line.principal);
    return { jsonrpc: '2.0', id: request.id, result: { ...result, requestState }, waits: true };
  }
}

/** Waits for the decision, at most for so long. */
async function waited(
  gate: Gate,
  first: GateResult,
  holdMs: number | undefined,
  signal: AbortSignal,
): Promise<GateResult> {
  const until = performance.now() + (holdMs ?? Number.POSITIVE_INFINITY);
  let result = first;
  while (result.status === 'pending') {
    const left = until - performance.now();
    if (left <= 0) return result;
    result = await gate.wait(result.id, { signal, ...(holdMs !== undefined && { timeout: Math.ceil(left) }) });
  }
  return result;
}

function responseOf({ request, tool, input }: Leg, result: GateResult): RpcResponse {
  if (result.status !== 'done') return refusal(request, gateText(tool, result));
  const { output } = result;
  const own = isRecord(output) && Array.isArray(output.content);
  const found = own ? (output as Params) : enteredByPerson(output);
  const isEdited = hashOf(result.input) !== hashOf(input);
  const note = { type: 'text', text: `A person changed the arguments before it ran: ${JSON.stringify(result.input)}` };
  const content = [...((found.content as readonly unknown[]) ?? []), ...(isEdited ? [note] : [])];
  return {
    jsonrpc: '2.0',
    id: request.id,
    result: { ...(isModern(request) && { resultType: 'complete' }), ...found, content },
  };
}

/** The result of a call in doubt, as a person entered it. */
const enteredByPerson = (output: unknown): Params => ({
  content: [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }],
  ...(isRecord(output) && { structuredContent: output }),
});

/** The text for the model if its arguments do not fit the schema of the tool. */
function asInvalid(error: Error & { readonly code?: string }): string {
  if (error.code === 'invalid-request') return error.message;
  throw error;
}

function descriptionOf(server: string, tool: McpTool, rule: McpRule): ToolDescription {
  const { title, risk, labels, policy, expiresIn, onExpiry, reversibility } = rule;
  const { title: own, annotations = {}, description, inputSchema } = tool;
  const shown = [own, annotations.title, tool.name].find((text) => typeof text === 'string' && text !== '');
  return defined({
    name: recordedName(server, tool.name),
    title: title ?? `${server}: ${shown}`,
    description,
    inputSchema,
    risk: risk ?? (annotations.destructiveHint === true ? ('high' as const) : undefined),
    labels,
    policy,
    expiresIn,
    onExpiry,
    reversibility,
  }) as ToolDescription;
}

/** The tool in the record. Grants and rules go by it, so tools of two servers never share a name. */
function recordedName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool}`;
  if (/^[\w-]{1,128}$/.test(name)) return name;
  return `${name.replaceAll(/[^\w-]/g, '_').slice(0, 105)}_${hashOf(name)}`;
}

const denial = ({ reason }: McpRule): string => reason ?? 'a rule of the gateway denies it.';
