// The gated calls of a recorded run: what their sources said, what became of them, and how people decided.

import type { Grant } from '../../core/authority/grants/grant.ts';
import type { PastCall } from '../../core/authority/judge-again.ts';
import type { CallSays } from '../../core/authority/may-run.ts';
import type { CallFacts } from '../../core/authority/rule.ts';
import { defined, isObject, type Json, sameJson } from '../../core/json.ts';
import { isToolRequest } from '../../core/messages/message.ts';
import { boundOf, type Request } from '../../core/request/request.ts';
import { unaskedId } from '../../core/run/call.ts';
import type { Decision, RunEvent } from '../../core/run/event.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { descriptionIn, descriptionOf, type Opening, type ToolDescription } from '../gates/described-tool.ts';
import type { LoadedRun } from '../port/store.ts';
import { requestKey } from '../requests/card.ts';

/** How people decided a request. `other`: it expired, was withdrawn or waits, or nobody was asked. */
export type PastDecision = 'approved' | 'edited' | 'rejected' | 'other';

export type RecordedCall = PastCall & {
  /** The id of its request or its row in lists; that of its run, if it has none. */
  readonly id: string;
  readonly runId: string;
  readonly at: number;
  readonly title?: string;
  readonly decided: PastDecision;
};

/** What this process knows of tools and grants. */
export type Known = {
  readonly toolNamed: (name: string) => ToolDefinition | undefined;
  readonly grantNamed: (id: string) => Promise<Grant | undefined>;
};

type Of<T extends RunEvent['type']> = RunEvent & { readonly type: T };

/** A call as far as its events were read. Only the first time that it passes its gate counts. */
type Reading = {
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  readonly at: number;
  judged?: Of<'call-judged'>;
  granted?: Of<'call-granted'>;
  request?: Request;
  decision?: Decision;
  hasPassed?: true;
  wasDenied?: true;
  /** A rule let it run. */
  isAllowed?: true;
  /** An agent, a question, or a request that a person asked for with changes: rules have no say. */
  isOther?: true;
};

/** In their order, those of sub-agents included. */
export async function pastCalls({ run, events }: LoadedRun, known: Known): Promise<readonly RecordedCall[]> {
  const calls = new Map<string, Reading>();
  for (const event of events) readEvent(calls, event, event.at);
  const spoken = events.find((event) => event.type === 'user-spoke');
  const opening = spoken?.messages[0]?.metadata?.opening;
  const description = spoken?.outside && isObject(opening) ? descriptionIn(opening as Opening) : undefined;
  const people = [...new Set([run.startedBy, spoken?.by ?? null].filter((person) => person !== null))];
  const found = [...calls.values()].map((call) =>
    pastCall(call, run, { description, isOutside: spoken?.outside === true }, people, known),
  );
  return (await Promise.all(found)).filter((call) => call !== undefined);
}

function readEvent(calls: Map<string, Reading>, event: RunEvent, at: number): void {
  if (event.type === 'model-replied') {
    const asked = event.content.filter(isToolRequest);
    for (const [index, { id }] of event.calls.entries()) {
      const { name: tool, input = null } = asked[index]?.toolRequest ?? {};
      if (tool !== undefined) calls.set(id, { id, tool, input: input as Json, at });
    }
    return;
  }
  if (event.type === 'call-went-on') for (const inner of event.inside) readEvent(calls, inner, at);
  const call = 'callId' in event ? calls.get(event.callId) : undefined;
  if (!call) return;
  // A limit may have had no room by the time the call was to start.
  if (event.type === 'call-judged' && !call.request && !call.granted && !call.hasPassed) call.judged = event;
  if (event.type === 'call-granted' && !call.request) call.granted ??= event;
  if (event.type === 'call-interrupted') readRequest(call, event);
  if (event.type === 'call-started') {
    call.hasPassed = true;
    if (event.inside) call.isOther = true;
  }
  // Its caller has not started it yet. A grant that covers it is recorded at the start.
  if (event.type === 'call-cleared' && !event.takesGrant) call.hasPassed = true;
  if (event.type === 'call-cleared' && event.allowed && !call.request) call.isAllowed = true;
  if (event.type === 'decision-made' && event.requestId === call.request?.id) call.decision ??= event.decision;
  const isUnasked = !call.request && !call.granted && !call.hasPassed;
  if (event.type === 'call-settled' && event.result.type === 'rejected' && isUnasked) call.wasDenied = true;
}

function readRequest(call: Reading, { request }: Of<'call-interrupted'>): void {
  if (request.kind === 'question') call.isOther = true;
  if (request.kind !== 'approval' || call.request || call.granted || call.hasPassed) return;
  call.request = request;
  if (request.shown.previous) call.isOther = true;
}

/** Undefined if no rule has a say in the call, or it never came to its gate. */
async function pastCall(
  call: Reading,
  { id: runId, agent, startedBy }: LoadedRun['run'],
  { description, isOutside }: { readonly description: ToolDescription | undefined; readonly isOutside: boolean },
  people: readonly string[],
  { toolNamed, grantNamed }: Known,
): Promise<RecordedCall | undefined> {
  const { tool, judged, granted, request, decision, at } = call;
  const definition = toolNamed(tool);
  const wasAsked = request ?? granted;
  if (call.isOther || definition?.innerTools || !(wasAsked || call.hasPassed || call.wasDenied || judged?.observed))
    return undefined;
  const { policies = undefined, requesters = people } = request?.authority ?? granted ?? judged?.observed ?? {};
  const shown = request?.shown ?? granted?.shown ?? judged?.observed?.shown;
  const bound = request ? boundOf(request)?.runsWith : granted ? granted.runsWith : judged?.runsWith;
  const says = judged?.says ?? unruled(wasAsked !== undefined, policies, description);
  const wasGated = { policies: policies ?? [{}] } as const;
  const own =
    request?.id ?? (granted || judged?.observed || call.isAllowed ? unaskedId({ id: call.id, pauses: 0 }) : undefined);
  return {
    ...kindOf({ call, shown, definition, description, isAsked: wasAsked !== undefined }),
    ...defined({ origins: shown?.origins }),
    ...says,
    ...{ tool, agent, startedBy, requesters, runId, at, input: bound === undefined ? call.input : bound },
    id: own === undefined ? runId : requestKey(runId, own),
    ...defined({ title: shown?.title }),
    decided: decidedAs(decision),
    ...(!shown?.origins && !says.origins && !isOutside && { isOfUnknownOrigin: true }),
    ...(call.wasDenied &&
      !judged && { unknown: 'An earlier release denied it, and did not record what its tool said.' }),
    was: request
      ? { then: 'ask', ...wasGated }
      : granted
        ? { then: 'grant', ...wasGated, grant: await grantNamed(granted.grantId) }
        : { then: call.wasDenied ? 'deny' : 'run' },
  };
}

/** What the sources of a call said in which no rule had a say. */
function unruled(
  wasAsked: boolean,
  policies: CallSays['policies'],
  description: ToolDescription | undefined,
): CallSays {
  if (!wasAsked) return { own: 'allow' };
  const asksByDefault = description && description.policy === undefined && !description.gateIsCode;
  return { own: asksByDefault ? 'undecided' : 'ask', ...defined({ policies }) };
}

type Kind = Pick<CallFacts, 'labels' | 'risk' | 'reversibility' | 'isDescribed'> & {
  readonly isOfUnknownKind?: boolean;
};

/** Where a rule had a say, it is in the record; a request shows it; otherwise the tool that is defined here says it. */
function kindOf(of: {
  readonly call: Reading;
  readonly shown: Request['shown'] | undefined;
  readonly definition: ToolDefinition | undefined;
  readonly description: ToolDescription | undefined;
  readonly isAsked: boolean;
}): Kind {
  const { call, shown, definition, description, isAsked } = of;
  if (call.judged) return {};
  const declared = isAsked ? (shown ?? {}) : (definition?.asks ?? description);
  if (!declared) return { isOfUnknownKind: true };
  const { labels, risk, reversibility } = declared;
  const isDescribed = description !== undefined && !(definition && isOf(description, definition));
  return defined({ labels, risk, reversibility, ...(isDescribed && { isDescribed }) });
}

/** A caller has passed the tool itself, or described it in the same words. */
function isOf(description: ToolDescription, definition: ToolDefinition): boolean {
  const known = DESCRIPTIONS.get(definition) ?? JSON.stringify(descriptionOf(definition));
  DESCRIPTIONS.set(definition, known);
  return sameJson(JSON.parse(known), description as unknown as Json);
}

const DESCRIPTIONS = new WeakMap<ToolDefinition, string>();

function decidedAs(decision: Decision | undefined): PastDecision {
  switch (decision?.type) {
    case 'approve':
      return decision.input === undefined ? 'approved' : 'edited';
    case 'reject':
    case 'revise':
      return 'rejected';
    default:
      return 'other';
  }
}
