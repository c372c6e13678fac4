// The timeline of a run: what happened, who did it, and how long it took, read from its events.
import type { Decision, Message, Part } from 'countersign';
import type { DeskEvent } from '../desk/desk.ts';
import { decisionText } from './decision-text.ts';
import { durationText } from './moment.ts';
import { valueLine } from './value-text.ts';
import { visibleLine, visibleText } from './visible-text.ts';

export type Entry = {
  readonly seq: number;
  readonly at: number;
  /** Since the run began. */
  readonly afterMs: number;
  /** The user, the model, a tool, the person who decided, or the run itself. */
  readonly who: string;
  readonly what: string;
  readonly tone: 'said' | 'asked' | 'decided' | 'done' | 'bad' | 'quiet';
  /** How long it took, or was waited for. */
  readonly tookMs: number | null;
};

/** `inside`: the calls of the conversation inside it. */
type Known = { readonly name: string; startedAt?: number; askedAt?: number; readonly inside: Map<string, Known> };

const newCall = (name: string): Known => ({ name, inside: new Map() });

/** Reads events one after the other, so that a run can also be followed. */
export function createTimeline(): (event: DeskEvent) => readonly Entry[] {
  const calls = new Map<string, Known>();
  let beganAt: number | undefined;
  return (event) => {
    beganAt ??= event.at;
    const common = { seq: event.seq, at: event.at, afterMs: event.at - beganAt };
    return read(event, calls).map((entry) => ({ ...common, tookMs: null, ...entry }));
  };
}

type Read = Pick<Entry, 'who' | 'what' | 'tone'> & { readonly tookMs?: number | null };

function read(event: DeskEvent, calls: Map<string, Known>): readonly Read[] {
  const callOf = (id: string): Known => calls.get(id) ?? newCall('a tool');
  switch (event.type) {
    case 'user-spoke':
      return event.messages.filter(({ role }) => role === 'user').map(userSaid);
    case 'model-replied':
      return modelSaid(event.content, event.calls, calls);
    case 'call-started': {
      const call = callOf(event.callId);
      call.startedAt = event.at;
      return [{ who: call.name, what: 'starts', tone: 'quiet' }];
    }
    case 'call-went-on': {
      const { name, inside } = callOf(event.callId);
      const { seq, at } = event;
      return event.inside
        .filter(({ type }) => !TOLD_OUTSIDE.has(type))
        .flatMap((inner) => read({ ...inner, seq, at }, inside))
        .map((entry) => ({ ...entry, who: `${name} › ${entry.who}` }));
    }
    case 'call-interrupted': {
      const call = callOf(event.callId);
      call.askedAt = event.at;
      return [{ who: call.name, what: asks(event.interrupt), tone: 'asked' }];
    }
    case 'decision-made': {
      const { name, askedAt } = callOf(event.callId);
      const tookMs = askedAt === undefined ? null : event.at - askedAt;
      return decided(event.decision).map((entry) => ({ ...entry, what: `${name}: ${entry.what}`, tookMs }));
    }
    case 'step-done':
      return [{ who: callOf(event.callId).name, what: `step ${visibleLine(event.step)} is done`, tone: 'quiet' }];
    case 'call-committed':
      return [{ who: callOf(event.callId).name, what: 'is about to act', tone: 'quiet' }];
    case 'call-ended-late': {
      const names = nameOf([...(event.path ?? []), event.callId], calls);
      return [
        { who: names.join(' › '), what: `an earlier try ended late, and ${resultLine(event.result)}`, tone: 'bad' },
      ];
    }
    case 'call-held':
      return [{ who: callOf(event.callId).name, what: 'stopped in the middle, and can go on', tone: 'quiet' }];
    case 'call-settled': {
      const { name, startedAt } = callOf(event.callId);
      const { result } = event;
      const tookMs = startedAt === undefined ? null : event.at - startedAt;
      return [{ who: name, what: resultLine(result), tone: result.type === 'output' ? 'done' : 'bad', tookMs }];
    }
    case 'run-went-on':
      return [{ who: 'run', what: 'goes on', tone: 'quiet' }];
    case 'run-failed': {
      const { error } = (event.error ?? {}) as { readonly error?: { readonly message?: unknown } };
      const message = error?.message;
      return [{ who: 'run', what: `failed: ${visibleLine(String(message ?? 'for an unknown reason'))}`, tone: 'bad' }];
    }
    case 'run-ended': {
      const because = event.message === undefined ? '' : `: ${visibleLine(event.message)}`;
      return [{ who: 'run', what: `ended, ${event.reason}${because}`, tone: event.reason === 'stop' ? 'done' : 'bad' }];
    }
  }
}

/** Of a call, and before it of those that it is inside of. */
function nameOf([id = '', ...rest]: readonly string[], calls: ReadonlyMap<string, Known>): readonly string[] {
  const { name, inside } = calls.get(id) ?? newCall('a tool');
  return rest.length === 0 ? [name] : [name, ...nameOf(rest, inside)];
}

function resultLine(result: Extract<DeskEvent, { type: 'call-settled' }>['result']): string {
  return result.type === 'output' ? `gives ${valueLine(result.output)}` : `${result.type}: ${visibleLine(result.text)}`;
}

/** What the conversation inside was told, and what was decided in it, is in the events of the call itself. */
const TOLD_OUTSIDE: ReadonlySet<string> = new Set(['user-spoke', 'decision-made']);

const userSaid = ({ content }: Message): Read => ({ who: 'user', what: textOf(content) || '(no text)', tone: 'said' });

function modelSaid(
  content: readonly Part[],
  ids: readonly { readonly id: string; readonly ref: string }[],
  calls: Map<string, Known>,
): readonly Read[] {
  const text = textOf(content);
  const said: Read[] = text === '' ? [] : [{ who: 'model', what: text, tone: 'said' }];
  for (const part of content) {
    if (!('toolRequest' in part)) continue;
    const { name, ref, input } = part.toolRequest;
    const id = ids.find((call) => call.ref === ref)?.id;
    if (id !== undefined) calls.set(id, newCall(visibleLine(name)));
    said.push({ who: 'model', what: `calls ${visibleLine(name)}  ${valueLine(input)}`.trimEnd(), tone: 'quiet' });
  }
  return said;
}

const textOf = (content: readonly Part[]): string =>
  visibleText(content.map((part) => ('text' in part ? part.text : '')).join(''));

function asks(interrupt: Extract<DeskEvent, { type: 'call-interrupted' }>['interrupt']): string {
  const { kind, payload, risk, expiresAt } = interrupt;
  const message = (payload as { readonly message?: unknown } | null)?.message;
  const words = [
    KINDS[kind],
    ...(risk === undefined ? [] : [`${risk} risk`]),
    ...(expiresAt === undefined ? [] : [`until ${new Date(expiresAt).toISOString()}`]),
  ].join(', ');
  return typeof message === 'string' ? `${words}: ${visibleLine(message)}` : words;
}

const KINDS = {
  approval: 'waits for an approval',
  question: 'asks a question',
  interrupt: 'stops to ask',
  'unknown-outcome': 'was started, and nobody knows how it ended',
  unavailable: 'was approved, but is gone or does not take its input any more',
  inside: 'waits inside',
} as const;

function decided(decision: Decision): readonly Omit<Read, 'tookMs'>[] {
  if (decision.type === 'inside') {
    const notes = (Array.isArray(decision.decided) ? decision.decided : []) as readonly {
      readonly [key: string]: any;
    }[];
    if (notes.length === 0) return [{ who: 'somebody', what: 'decided inside', tone: 'decided' }];
    return notes.map((note) => ({ who: signed(note), what: decisionText(note), tone: 'decided' }));
  }
  const { by: _by, channel: _channel, note, metadata: _metadata, ...said } = decision;
  // On record the edited input is the input; a decision calls it an edit.
  const { input, ...rest } = said as { readonly input?: any; readonly type: string };
  const words = decisionText(input === undefined ? rest : { ...rest, edit: input, replaceInput: input });
  const beside = note === undefined ? '' : `, note: ${visibleLine(note)}`;
  return [{ who: signed(decision), what: `${words}${beside}`, tone: 'decided' }];
}

function signed({ by, channel }: { readonly by?: unknown; readonly channel?: unknown }): string {
  const who = typeof by === 'string' ? visibleLine(by) : 'somebody';
  return typeof channel === 'string' ? `${who} (${visibleLine(channel)})` : who;
}

/** As in `+2 min 3 s`. */
export const offsetText = (entry: Entry): string => `+${durationText(entry.afterMs)}`;
