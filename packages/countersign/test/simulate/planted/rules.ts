// Faults of the rules that no other file has: ids, order, values, pauses, limits, messages, sub-agents, streams, the history, the context.
import type { Planted } from './planted.ts';

const TOLD = 'the model is told what happened';
const ENDS = 'every run ends once faults stop';

export const RULES: readonly Planted[] = [
  {
    name: 'two calls get one id',
    rule: 'every call has its own id',
    file: 'core/run/reply.ts',
    find: 'const ref = fits ? given : unused(id);',
    replace: "const ref = 'call_1'; void unused;",
    within: 50,
  },
  {
    name: 'the last result comes first',
    rule: TOLD,
    file: 'core/messages/turn-messages.ts',
    find: 'const results = turn.calls.map(responsePart);',
    replace: 'const results = turn.calls.toReversed().map(responsePart);',
    within: 50,
  },
  {
    name: 'a step that gave 0 runs again',
    rule: 'a step whose result is recorded does not run again',
    file: 'loop/call/body-context.ts',
    find: 'if (done !== undefined) return copyOf(done) as never;',
    replace: 'if (done) return copyOf(done) as never;',
    within: 100,
  },
  {
    name: 'a body gets the record itself',
    rule: TOLD,
    file: 'loop/call/bound-input.ts',
    find: 'return tool.input.validate(copyOf(input));',
    replace: 'return tool.input.validate(input);',
    within: 200,
  },
  {
    name: 'one decision needs all others',
    rule: ENDS,
    file: 'runs/requests/deciding.ts',
    find: 'const card = pendingCards(runId, loaded.state).get(requestId);',
    replace:
      "const all = pendingCards(runId, loaded.state); if (all.size > 1 && all.has(requestId)) throw new Error('Decide all.'); const card = all.get(requestId);",
    within: 100,
  },
  {
    name: 'a second pause has the id of the first',
    rule: ENDS,
    file: 'core/run/state.ts',
    find: '    pauses: call.pauses + 1,',
    replace: '    pauses: call.pauses,',
    within: 100,
  },
  {
    name: 'a caught request is forgotten',
    rule: 'a gated call runs only after a decision',
    file: 'loop/call/body.ts',
    find: '    const asked = memory.first();',
    replace: '    const asked = undefined;',
    within: 100,
  },
  {
    name: 'a failed run is over',
    rule: ENDS,
    file: 'core/run/state.ts',
    find: "    case 'run-failed':",
    replace: "    case 'run-failed': return { ...state, ended: { reason: 'other', message: undefined } };",
    within: 200,
  },
  {
    name: 'the turn limit is not kept',
    rule: 'a run keeps its limits',
    file: 'core/run/next.ts',
    find: 'if (state.turnsUsed >= limits.maxTurns)',
    replace: 'if (state.turnsUsed >= 2 * limits.maxTurns)',
    within: 50,
  },
  {
    name: 'a message approves pending calls',
    rule: 'a gated call runs only after a decision',
    file: 'loop/generate.ts',
    find: "if (whilePending === 'cancel' || whilePending === 'auto') cancelOpenCalls(run, kept, by);",
    replace:
      "for (const { id, phase } of undecided) if (phase.at === 'waiting') run.record(event({ type: 'decision-made', callId: id, requestId: phase.request.id, decision: { type: 'approve' } }));",
    within: 200,
  },
  {
    name: 'a request inside a sub-agent is not shown',
    rule: ENDS,
    file: 'runs/requests/card.ts',
    find: "if (phase.at !== 'waiting') return inside;",
    replace: "if (phase.at !== 'waiting') return [];",
    within: 100,
  },
  {
    name: 'a stream hides the pause',
    rule: 'a stream shows the whole run',
    file: 'runs/runs.ts',
    find: 'for (const stored of events) yield { ...stored, seq: ++seq };',
    replace:
      "for (const stored of events) if (stored.type === 'call-interrupted') seq += 1; else yield { ...stored, seq: ++seq };",
    within: 100,
  },
  {
    name: 'the history does not say who edited',
    rule: TOLD,
    file: 'core/messages/turn-messages.ts',
    find: 'if (edit.by !== undefined) written.editedBy = edit.by;',
    replace: '',
    within: 100,
  },
  {
    name: 'the context is stored',
    rule: 'the context of a caller is never stored',
    file: 'runs/live-runs.ts',
    find: "const said = event({ type: 'user-spoke', messages: says });",
    replace:
      "const said = event({ type: 'user-spoke', messages: says.map((one) => ({ ...one, metadata: { ...options.context } })) });",
    within: 20,
  },
];
