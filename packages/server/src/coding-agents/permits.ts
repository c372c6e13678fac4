// Permits for the calls of coding agents: a person decides, the agent runs the call, and is allowed to at most once.
import { randomUUID } from 'node:crypto';
import { type Countersign, gateText, type Json, type ToolDescription } from 'countersign';
import { internalsOf } from 'countersign/store';
import type { Client } from '../client/index.ts';
import { defined } from '../defined.ts';
import { decidedWithin } from '../gate-calls.ts';
import { jsonHash } from '../json-hash.ts';
import { OpenCalls, type Ticket } from '../mcp-gate/open-calls.ts';
import { type AgentName, CODING_AGENTS } from './agent-names.ts';
import { callTitle } from './call-title.ts';
import { type PermitGate, serverGate } from './server-gate.ts';

/** A call that an agent wants to make. */
export type AgentCall = {
  readonly agent: AgentName;
  readonly tool: string;
  readonly input: unknown;
  /** The conversation of the agent. */
  readonly session: string;
  /** The id of the call, if the agent says it. The same id is the same call. */
  readonly id?: string | undefined;
  /** Where the agent works. */
  readonly folder?: string | undefined;
};

export type Permit =
  /** The agent may run it now, with this input. */
  | { readonly allowed: true; readonly input: unknown }
  /** It may not, now or ever: the text says why. */
  | { readonly allowed: false; readonly text: string; readonly isPending: boolean };

export type PermitOptions = {
  readonly ai: Countersign;
  /** The server where people decide. The store of `ai` then keeps only which calls are open. */
  readonly server?: Client | undefined;
  readonly by: string;
  readonly waitMs: number;
  /** How long the agent may run the call. After that its outcome is unknown. */
  readonly leaseMs: number;
  /** Whether the agent reports how calls ended. If not, the record says only that the call was allowed. */
  readonly reportsEnd: boolean;
  /** Whether the agent can run another input than its own. */
  readonly takesEdits?: boolean;
  /** Why an input never runs, also if a person edited the call to it; undefined if it may. */
  readonly denial?: (input: unknown) => string | undefined;
  /** What the operator says about the tool, and the rules for its calls. */
  readonly described?: Partial<ToolDescription>;
};

type Granted = Asked & { readonly token: string; readonly call: string };

/** A call that was asked for. */
type Asked = { readonly key: string; readonly runId: string };

const COLLECTION = 'coding-agent-calls';
const DAY_MS = 86_400_000;
const MOST_CHARACTERS = 50_000;
const MOST_DUE = 20;

/** Asks, waits, and grants the start at most once: asked again about a call that was allowed, it refuses. */
export async function permit(call: AgentCall, options: PermitOptions): Promise<Permit> {
  const { ai, by, waitMs, takesEdits = true, denial, described } = options;
  const gate = gateOf(options, call, described);
  const calls = new OpenCalls(ai);
  const identity = identityOf(call);
  const given = { gate: call.agent, tool: recordedName(call.tool), client: call.session };
  // A person has approved exactly this input, as an edit of another call.
  const edit = takesEdits ? undefined : await ai.runs.notes.get(COLLECTION, nameOfEdit(call));
  if (edit && (await ai.runs.notes.remove(COLLECTION, nameOfEdit(call)))) {
    const { key, runId } = edit.value as Asked;
    return grantStart(gate, await calls.resume(identity, key, given), { ...call, runId }, options);
  }
  const newKey = () => `agent:${call.id === undefined ? randomUUID() : jsonHash([call.session, call.id])}`;
  const ticket = await calls.take(identity, { ...given, newKey });
  const { key } = ticket;
  await ticket.keep();
  const asked = gate.request(call.input, { key, by, conversation: call.session });
  const result = await asked.then((first) => decidedWithin(gate, first, waitMs)).finally(ticket.pause);
  if (result.status === 'pending' || result.status === 'doubt') {
    await ticket.release();
    return refused(gateText(call.tool, result), result.status === 'pending');
  }
  if (result.status === 'started') return refused(allowedBefore(call));
  const { runId } = result;
  if (result.status === 'approved') {
    const reason = denial?.(result.input);
    const isEdited = jsonHash(result.input) !== jsonHash(call.input);
    if (reason === undefined && (!isEdited || takesEdits)) return grantStart(gate, ticket, { ...call, runId }, options);
    await ticket.over();
    if (reason !== undefined) return refused(gateText(call.tool, await gate.withdraw(runId, { reason })));
    const expiresAt = Date.now() + DAY_MS;
    await ai.runs.notes.put(COLLECTION, nameOfEdit({ ...call, input: result.input }), { key, runId }, { expiresAt });
    const input = JSON.stringify(result.input);
    return refused(`${call.tool} was not run: a person changed its input. Call it with ${input}`);
  }
  await ticket.over();
  if (result.status === 'done')
    return refused(`${call.tool} has run already, with this result: ${shortened(result.output)}`);
  return refused(gateText(call.tool, result));
}

/** Records a call that the agent runs unasked, and whom the rules would have asked. The call runs as it would have, even if that fails. */
export async function observe(
  call: AgentCall,
  { ai, by }: Pick<PermitOptions, 'ai' | 'by'>,
  described: Partial<ToolDescription>,
): Promise<void> {
  const key = `agent:${call.id === undefined ? randomUUID() : jsonHash([call.session, call.id])}`;
  const input = (call.input ?? null) as Json;
  await internalsOf(ai)
    .observeCall(call.agent, describe(call, described), { input, key, by })
    .catch(() => undefined);
}

async function grantStart(
  gate: PermitGate,
  ticket: Ticket,
  { runId, ...call }: AgentCall & Pick<Asked, 'runId'>,
  options: PermitOptions,
): Promise<Permit> {
  const { ai, leaseMs, reportsEnd } = options;
  const { key } = ticket;
  const token = randomUUID();
  await ticket.sent(leaseMs);
  const start = await gate.start(runId, { token, lease: leaseMs });
  if (start.status === 'pending') {
    // The grant that covered the call has ended, so a person is asked.
    await ticket.release();
    return refused(gateText(call.tool, start), true);
  }
  if (start.status !== 'granted') return refused(allowedBefore(call));
  if (!reportsEnd) {
    await gate.finish(runId, token, { output: 'Allowed. The coding agent runs it; its result is not recorded.' });
    await ticket.over();
  } else {
    const granted = { key, runId, token, call: identityOf(call) };
    for (const name of namesOf({ ...call, input: start.input })) await remember(ai, name, granted);
  }
  return { allowed: true, input: start.input };
}

const refused = (text: string, isPending = false): Permit => ({ allowed: false, text, isPending });

const allowedBefore = ({ tool }: AgentCall): string => `${tool} was allowed before. It may have run. Do not repeat it.`;

const identityOf = ({ session, tool, input }: AgentCall): string => jsonHash([session, tool, input]);

/** Records how an allowed call ended. False if it was not allowed here. */
export async function report(
  options: Pick<PermitOptions, 'ai' | 'server'>,
  call: AgentCall,
  end: { readonly output: unknown } | { readonly error: string },
): Promise<boolean> {
  const { ai } = options;
  for (const name of namesOf(call)) {
    const note = await ai.runs.notes.get(COLLECTION, name);
    if (!note) continue;
    const { key, runId, token, call: identity } = note.value as Granted;
    const given = 'output' in end ? { output: kept(end.output) } : { error: end.error.slice(0, MOST_CHARACTERS) };
    await gateOf(options, call).finish(runId, token, given);
    for (const known of namesOf(call)) await ai.runs.notes.remove(COLLECTION, known);
    await new OpenCalls(ai).end(identity, key);
    return true;
  }
  return false;
}

/** The names under which the start is kept: the id of the call, and for agents that do not say it, the call itself. */
const namesOf = ({ session, id, tool, input }: AgentCall): readonly string[] => [
  ...(id === undefined ? [] : [jsonHash(['id', session, id])]),
  jsonHash(['call', session, tool, input]),
];

const nameOfEdit = ({ session, tool, input }: AgentCall): string => jsonHash(['edit', session, tool, input]);

const remember = (ai: Countersign, name: string, granted: Granted) =>
  ai.runs.notes.put(COLLECTION, name, granted, { expiresAt: Date.now() + DAY_MS });

/**
 * Asks a person about each call that was allowed and whose lease passed without a report, and closes requests whose deadline passed.
 * A store without a server and without a worker relies on it.
 */
export async function settleDueCalls({ ai, server }: Pick<PermitOptions, 'ai' | 'server'>): Promise<void> {
  if (server || (await ai.runs.store.due(1, [...CODING_AGENTS])).length === 0) return;
  for (const name of CODING_AGENTS) {
    const gate = ai.gate({ name: 'due' }, { name });
    // A damaged run stays as it is, and must not keep people from the others.
    for (const runId of await ai.runs.store.due(MOST_DUE, [name])) await gate.read(runId).catch(() => undefined);
  }
}

/** Tools of agents have names such as `Bash`, `apply_patch` or `mcp__server__tool`. */
const recordedName = (tool: string): string =>
  /^[\w-]{1,128}$/.test(tool) ? tool : `${tool.replaceAll(/[^\w-]/g, '_').slice(0, 105)}_${jsonHash(tool)}`;

function gateOf(
  { ai, server }: Pick<PermitOptions, 'ai' | 'server'>,
  call: AgentCall,
  described?: Described,
): PermitGate {
  const description = describe(call, described);
  return server ? serverGate(server, description) : ai.gate(description, { name: call.agent });
}

type Described = Partial<ToolDescription>;

function describe({ agent, tool, input, folder }: AgentCall, described: Described = {}): ToolDescription {
  const description = 'A call of a coding agent.';
  const message = folder === undefined ? undefined : `${agent} asks, in the folder ${folder}`;
  return {
    title: callTitle(tool, input),
    description,
    ...defined({ message }),
    ...described,
    name: recordedName(tool),
  };
}

/** The end of a call without what is too long to keep. */
const kept = (output: unknown): unknown =>
  (JSON.stringify(output)?.length ?? 0) <= MOST_CHARACTERS ? (output ?? null) : { shortened: shortened(output) };

const shortened = (output: unknown): string => (JSON.stringify(output) ?? '').slice(0, MOST_CHARACTERS);
