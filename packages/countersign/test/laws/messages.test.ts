// The laws of messages: they are the state of a run without a store, and nothing that is done to them settles a call.
import fc from 'fast-check';
import { expect } from 'vitest';
import { UsageError } from '../../src/core/errors.ts';
import { type Json, sameJson } from '../../src/core/json.ts';
import { loadMessages, messagesOf } from '../../src/core/messages/load-messages.ts';
import { isToolRequest, type Message } from '../../src/core/messages/message.ts';
import { pendingParts } from '../../src/core/messages/pending-parts.ts';
import type { Call } from '../../src/core/run/call.ts';
import { findDecided } from '../../src/core/run/decide.ts';
import { next } from '../../src/core/run/next.ts';
import { readResume } from '../../src/core/run/read-resume.ts';
import { type State, waitingCalls } from '../../src/core/run/state.ts';
import { law } from './law.ts';
import { type RandomRun, randomRun } from './random-runs.ts';

const LIMITS = { maxTurns: 5 };
const stored = (messages: readonly Message[]) => JSON.parse(JSON.stringify(messages)) as Message[];
const settledIn = ({ turn }: State) => (turn?.calls ?? []).filter(({ phase }) => phase.at === 'settled');

/** The states in which a process may stop: not between a rejection and the end of its call. */
const between = ({ events, states }: RandomRun): readonly State[] =>
  states.filter((_, index) => !(events[index - 1]?.type === 'decision-made' && events[index]?.type === 'call-settled'));
const somewhere = fc.tuple(randomRun, fc.nat()).map(([run, place]) => {
  const states = between(run);
  return states[place % states.length] as State;
});
const waiting = fc
  .tuple(randomRun, fc.nat())
  .map(([run, place]) => {
    const states = between(run).filter((state) => waitingCalls(state).length > 0);
    return states[place % states.length];
  })
  .filter((state) => state !== undefined);

law(
  'messages, read and written again, are the same messages',
  fc.property(somewhere, (state) => {
    const messages = stored(messagesOf(state));
    const loaded = loadMessages(messages);
    expect(loaded.spoken).toEqual([]);
    expect(stored(messagesOf(loaded.state))).toEqual(messages);
    expect(messages).toEqual(stored(messages));
  }),
);
law(
  'the run continues from its messages as it would have continued',
  fc.property(somewhere, (state) => {
    if (!state.turn) return;
    const read = loadMessages(stored(messagesOf(state))).state;
    const [was, is] = [next(state, LIMITS), next(read, LIMITS)];
    expect(is.do).toBe(was.do);
    const named = (calls: readonly Call[]) => calls.map(({ id, ref, name, input }) => ({ id, ref, name, input }));
    if ('calls' in was && 'calls' in is) expect(named(is.calls)).toEqual(named(was.calls));
    expect(named(waitingCalls(read))).toEqual(named(waitingCalls(state)));
    for (const [index, { phase, runsWith, approvals }] of state.turn.calls.entries()) {
      if (phase.at === 'settled') continue;
      const same = read.turn?.calls[index];
      expect(same).toMatchObject({ approvals, ...(phase.at !== 'waiting' && phase.at !== 'open' && { runsWith }) });
      if (phase.at === 'waiting') expect(same?.phase).toEqual(JSON.parse(JSON.stringify(phase)));
    }
  }),
);
law(
  'a call that waits stays open whichever message or part is removed, or the messages are refused',
  fc.property(waiting, fc.nat(), fc.nat(), (state, place, second) => {
    const messages = stored(messagesOf(state));
    const at = place % messages.length;
    const { content } = messages[at] as Message;
    const changed = [
      messages.toSpliced(at, 1),
      messages.with(at, {
        ...(messages[at] as Message),
        content: content.toSpliced(second % (content.length || 1), 1),
      }),
    ];
    const before = new Set(settledIn(state).map(({ ref }) => ref));
    for (const less of changed)
      try {
        const read = loadMessages(less).state;
        for (const { ref } of settledIn(read)) expect(before).toContain(ref);
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
      }
  }),
);
law(
  'an approval of another input, of another call or of an earlier request decides nothing',
  fc.property(waiting, fc.nat(), fc.constantFrom<Json>({ amount: 999_999 }, null, []), (state, place, other) => {
    const { state: read } = loadMessages(stored(messagesOf(state)));
    const parts = pendingParts(messagesOf(state));
    const part = parts[place % parts.length];
    if (!part) throw new Error('No request waits.');
    const approved = { ...part, metadata: { ...part.metadata, decision: { made: 'approve' } } };
    expect(findDecided(read, readResume([approved])).faults).toEqual([]);
    const { toolRequest, metadata } = approved;
    const forged = [
      { ...approved, toolRequest: { ...toolRequest, input: other } },
      { ...approved, toolRequest: { ...toolRequest, ref: `${toolRequest.ref}x` } },
      { ...approved, toolRequest: { ...toolRequest, name: 'else' } },
      { ...approved, metadata: { ...metadata, requestId: `${toolRequest.ref}/99` } },
      { ...approved, metadata: { ...metadata, replacedInput: { not: 'the recorded one' } } },
    ];
    for (const one of forged) {
      fc.pre(!sameJson(toolRequest.input, other));
      // A request that was decided before carries the input that was replaced then.
      if (part.metadata?.resolvedInterrupt !== undefined && one === forged[4]) continue;
      const { leaves, faults } = findDecided(read, readResume([one]));
      expect([leaves, faults.length]).toEqual([[], 1]);
    }
  }),
);
law(
  'two decisions on one request are refused, and those of others are found',
  fc.property(waiting, (state) => {
    const messages = stored(messagesOf(state));
    const { state: read } = loadMessages(messages);
    const parts = pendingParts(messages).filter((part) => isToolRequest(part));
    const approvals = parts.map((part) => ({ ...part, metadata: { ...part.metadata, decision: { made: 'approve' } } }));
    expect(findDecided(read, readResume(approvals))).toMatchObject({ faults: [] });
    expect(findDecided(read, readResume(approvals)).leaves).toHaveLength(parts.length);
    const [first] = approvals;
    if (first) expect(findDecided(read, readResume([...approvals, first])).faults).toHaveLength(1);
  }),
);
