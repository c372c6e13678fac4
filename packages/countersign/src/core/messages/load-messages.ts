// Messages that a caller passes in, turned back into the state of a run.

import { UsageError } from '../errors.ts';
import { isObject } from '../json.ts';
import type { MayHaveActed, State } from '../run/call.ts';
import { GrowList, GrowSet } from '../run/grow.ts';
import { isToolRequest, isToolResponse, type Message, type Part, type ToolResponsePart } from './message.ts';
import { MAX_TURNS_KEY, openMessage, QUEUED_KEY, readTurn, STORED_KEY } from './turn-messages.ts';

export type Loaded = {
  readonly state: State;
  /** User messages after a reply whose calls are still open. */
  readonly spoken: readonly Message[];
  /** The stored run that these messages come from, if calls are still open in it. */
  readonly storedIn?: string;
};

/** The state of a run without messages. */
export function newState(): State {
  return stateOf(GrowList.owning([]), nothing());
}

function stateOf(history: State['history'], { refs, mayHaveActed, turnsUsed }: Known): State {
  return {
    history,
    refs,
    mayHaveActed,
    failures: 0,
    turn: undefined,
    ballots: undefined,
    queued: NO_MESSAGES,
    sentBack: undefined,
    spokenBy: undefined,
    turnsUsed,
    reply: undefined,
    ended: undefined,
    outside: undefined,
    usage: undefined,
  };
}

const NO_MESSAGES: readonly Message[] = [];

/** Throws a `UsageError` that lists every fault if the messages are not a valid conversation. */
export function loadMessages(messages: readonly Message[]): Loaded {
  const scan = scanMessages(messages);
  if (scan.faults.length > 0) throw invalidHistory(scan.faults);
  const { open } = scan;
  const copy = open ? messages.slice(0, open.index) : messages.slice();
  for (const [index, message] of scan.renamed) if (index < copy.length) copy[index] = message;
  const state = stateOf(GrowList.owning(copy), scan);
  if (!open) return { state, spoken: NO_MESSAGES };
  const queued: Message[] = [];
  const spoken: Message[] = [];
  for (let index = open.end; index < messages.length; index++) {
    const message = messages[index] as Message;
    if (message.metadata?.[QUEUED_KEY] === true) queued.push(unqueued(message));
    else spoken.push(message);
  }
  const loaded = { state: { ...state, queued, turn: readTurn(open.message, open.answers) }, spoken };
  const storedIn = open.message.metadata?.[STORED_KEY];
  return typeof storedIn === 'string' ? { ...loaded, storedIn } : loaded;
}

/** The continuation of a run as plain JSON. The run must be over: the list is its own. `storedIn`: the run is stored, under this id. */
export function messagesOf(state: State, storedIn?: string): Message[] {
  const { turn, queued } = state;
  const waiting = (message: Message): Message => ({
    ...message,
    metadata: { ...message.metadata, [QUEUED_KEY]: true },
  });
  const messages = (
    turn ? state.history.append(openMessage(turn, storedIn), ...queued.map(waiting)) : state.history
  ).toArray() as Message[];
  rememberMessages(messages, state);
  return messages;
}

/** Remembers that these messages match `state`, so that loading them again need not check them all. */
function rememberMessages(messages: readonly Message[], state: State): void {
  const count = state.history.length;
  if (count < MANY) return;
  const { refs, mayHaveActed } = state;
  const turnsUsed = state.turn ? state.turnsUsed - 1 : state.turnsUsed;
  scanned.set(messages, { count, last: messages[count - 1], refs, mayHaveActed, turnsUsed });
}

/** What is known of the calls in messages. */
type Known = {
  readonly refs: GrowSet<string>;
  readonly mayHaveActed: readonly MayHaveActed[];
  readonly turnsUsed: number;
};

/** The valid start of a list of messages: all its calls have answers. */
type Prefix = Known & { readonly count: number; readonly last: Message | undefined };

type Open = {
  readonly index: number;
  readonly end: number;
  readonly message: Message;
  readonly answers: ReadonlyMap<string, ToolResponsePart>;
};

type Scan = Known & {
  readonly open: Open | undefined;
  /** Messages whose calls had no id, or a duplicate one, and were given another. */
  readonly renamed: readonly (readonly [at: number, message: Message])[];
  readonly faults: readonly Fault[];
};

type Fault = { readonly index: number; readonly problem: string };

/** Keeps how far a list is valid, never its content: a caller may change a message between two calls. */
const scanned = new WeakMap<readonly Message[], Prefix>();

/** Fewer messages are checked faster than they are remembered. */
const MANY = 32;

function knownPrefix(messages: readonly Message[]): Prefix {
  const known = messages.length < MANY ? undefined : scanned.get(messages);
  if (known && known.count <= messages.length && messages[known.count - 1] === known.last) return known;
  return { count: 0, last: undefined, ...nothing() };
}

/** A new set each time, because growing sets share their storage. */
const nothing = (): Known => ({ refs: GrowSet.of<string>(), mayHaveActed: [], turnsUsed: 0 });

function scanMessages(messages: readonly Message[]): Scan {
  if (!Array.isArray(messages)) throw invalidHistory([{ index: 0, problem: 'messages is not an array' }]);
  const prefix = knownPrefix(messages);
  const faults: Fault[] = [];
  const renamed: [at: number, message: Message][] = [];
  const refs: string[] = [];
  const acted: MayHaveActed[] = [];
  let { turnsUsed } = prefix;
  let open: Open | undefined;
  let index = prefix.count;
  const isOpenAt = (end: number): boolean => messages.findLastIndex((message) => message?.role !== 'user') < end;
  while (index < messages.length && !open) {
    const message = messages[index] as Message;
    const problem = shapeProblem(message);
    let end = index + 1;
    if (problem) faults.push({ index, problem });
    else if (message.role === 'user') turnsUsed = 0;
    else if (message.role === 'tool') faults.push({ index, problem: unaskedProblem(message) });
    else if (message.role === 'model') {
      turnsUsed += 1;
      if (message.content.some(isToolRequest)) {
        while (messages[end]?.role === 'tool') end += 1;
        const pairs = pairTurn(messages, index, end);
        faults.push(...pairs.faults);
        renamed.push(...pairs.renamed);
        refs.push(...pairs.refs);
        acted.push(...pairs.acted);
        const dangling = pairs.unanswered.length > 0;
        if (dangling && isOpenAt(end)) open = { index, end, message: pairs.message, answers: pairs.answers };
        else if (dangling)
          faults.push({
            index,
            problem: `the call ${pairs.unanswered.join(', ')} has no answer before the next message`,
          });
      }
      const closing = messages[end - 1];
      if (closing?.metadata?.[MAX_TURNS_KEY] === true) turnsUsed = 0;
    }
    index = end;
  }
  const known = refs.length > 0 ? prefix.refs.add(refs) : prefix.refs;
  const mayHaveActed = acted.length > 0 ? [...prefix.mayHaveActed, ...acted] : prefix.mayHaveActed;
  const count = open ? open.index : messages.length;
  // A message with faults, or one that had to be changed, is read again the next time.
  if (count >= MANY && faults.length === 0 && renamed.length === 0) {
    const before = open ? turnsUsed - 1 : turnsUsed;
    scanned.set(messages, { count, last: messages[count - 1], refs: known, mayHaveActed, turnsUsed: before });
  }
  return { refs: known, mayHaveActed, turnsUsed, renamed, faults, open };
}

type Asked = { readonly name: string; readonly given: string | undefined; readonly ref: string; answered: boolean };

/** Pairs the calls of the model's message at `index` with the answers in the tool messages up to `end`. */
function pairTurn(messages: readonly Message[], index: number, end: number) {
  const faults: Fault[] = [];
  const renamed: [at: number, message: Message][] = [];
  const acted: MayHaveActed[] = [];
  const answers = new Map<string, ToolResponsePart>();
  const given = messages[index] as Message;
  const { asked, content } = nameCalls(given, index);
  const message = content ? { ...given, content } : given;
  if (content) renamed.push([index, message]);
  const findUnanswered = unansweredFinder(asked);
  for (let at = index + 1; at < end; at++) {
    const reply = messages[at] as Message;
    const problem = shapeProblem(reply);
    if (problem) {
      faults.push({ index: at, problem });
      continue;
    }
    let changed = false;
    const parts = reply.content.map((part): Part => {
      if (!isToolResponse(part)) return part;
      const { name, ref, output } = part.toolResponse as { name: string; ref?: string; output: unknown };
      const fits = (call: Asked | undefined) =>
        call !== undefined && !call.answered && (ref === undefined ? call.name === name : call.given === ref);
      // Answers mostly come in the order of the calls.
      const call = fits(asked[answers.size]) ? asked[answers.size] : findUnanswered(name, ref);
      if (!call || call.name !== name) {
        faults.push({ index: at, problem: answerProblem(asked, name, ref, call) });
        return part;
      }
      call.answered = true;
      const answer = ref === call.ref ? part : { ...part, toolResponse: { name, ref: call.ref, output } };
      changed ||= answer !== part;
      answers.set(call.ref, answer);
      if (part.metadata?.mayHaveActed === true) acted.push({ name, ref: call.ref, text: String(output) });
      return answer;
    });
    if (changed) renamed.push([at, { ...reply, content: parts }]);
  }
  const unanswered = asked.filter((call) => !call.answered).map((call) => `${call.name} (${call.ref})`);
  return { message, faults, renamed, acted, answers, unanswered, refs: asked.map((call) => call.ref) };
}

/** Finds the first call without an answer that has this id, or without an id, this name. All searches together are linear. */
function unansweredFinder(asked: readonly Asked[]): (name: string, ref: string | undefined) => Asked | undefined {
  let queues: { readonly byRef: Queues; readonly byName: Queues } | undefined;
  return (name, ref) => {
    queues ??= { byRef: lastFirst(asked, 'given'), byName: lastFirst(asked, 'name') };
    const queue = ref === undefined ? queues.byName.get(name) : queues.byRef.get(ref);
    while (queue?.at(-1)?.answered) queue.pop();
    return queue?.at(-1);
  };
}

type Queues = ReadonlyMap<string | undefined, Asked[]>;

/** Groups the calls, the last one first, so that the first can be popped. */
function lastFirst(asked: readonly Asked[], key: 'given' | 'name'): Queues {
  const queues = new Map<string | undefined, Asked[]>();
  for (const call of asked.toReversed()) {
    const queue = queues.get(call[key]);
    if (queue) queue.push(call);
    else queues.set(call[key], [call]);
  }
  return queues;
}

/** Gives calls without an id, or with one that a sibling has, an id that is the same each time they are read. */
function nameCalls(message: Message, index: number): { asked: Asked[]; content?: readonly Part[] } {
  const taken = new Set<string>();
  const asked: Asked[] = [];
  const content = message.content.map((part): Part => {
    if (!isToolRequest(part)) return part;
    const { name, input } = part.toolRequest;
    const given = part.toolRequest.ref as string | undefined;
    const fits = typeof given === 'string' && given !== '' && !taken.has(given);
    const ref = fits ? given : `call-${index}-${asked.length}`;
    taken.add(ref);
    asked.push({ name, given, ref, answered: false });
    return fits ? part : { ...part, toolRequest: { name, ref, input } };
  });
  return asked.every((call) => call.given === call.ref) ? { asked } : { asked, content };
}

function answerProblem(
  asked: readonly Asked[],
  name: string,
  ref: string | undefined,
  call: Asked | undefined,
): string {
  const answer = `the answer of ${name}${ref === undefined ? '' : ` (${ref})`}`;
  if (call) return `${answer} is for a call of ${call.name}`;
  if (asked.some((other) => other.answered && other.given === ref)) return `${answer} comes twice`;
  return `${answer} is for no call of the reply before it`;
}

function unaskedProblem(message: Message): string {
  const [first] = message.content.filter(isToolResponse);
  return `the answer of ${first ? first.toolResponse.name : 'a tool'} follows no reply with a call`;
}

const ROLES: ReadonlySet<string> = new Set(['system', 'user', 'model', 'tool']);

function shapeProblem(message: Message): string | undefined {
  if (typeof message !== 'object' || message === null) return 'it is not an object';
  if (!ROLES.has(message.role)) return `its role is ${JSON.stringify(message.role)}, not system, user, model or tool`;
  if (!Array.isArray(message.content)) return 'its content is not an array of parts';
  for (const part of message.content as readonly Part[]) {
    if (typeof part !== 'object' || part === null) return 'a part of its content is not an object';
    if (isToolRequest(part)) {
      if (message.role !== 'model') return `a ${message.role} message cannot ask for a tool`;
      if (!hasName(part.toolRequest)) return 'a tool request has no name';
    } else if (isToolResponse(part)) {
      if (message.role !== 'tool') return `a ${message.role} message cannot answer for a tool`;
      if (!hasName(part.toolResponse)) return 'a tool response has no name';
    } else if (message.role === 'tool') return 'a tool message may hold tool responses only';
  }
  return undefined;
}

function hasName(value: unknown): boolean {
  return isObject(value) && typeof value.name === 'string' && value.name !== '';
}

/** A queued message loses its mark when it joins the conversation. */
function unqueued(message: Message): Message {
  const { [QUEUED_KEY]: _queued, ...metadata } = message.metadata ?? {};
  const { metadata: _metadata, ...rest } = message;
  return Object.keys(metadata).length > 0 ? { ...rest, metadata } : rest;
}

function invalidHistory(faults: readonly Fault[]): UsageError {
  const list = faults.map((fault) => `messages[${fault.index}]: ${fault.problem}`).join('; ');
  return new UsageError('invalid-history', { faults }, `These messages are not a valid conversation. ${list}.`);
}
