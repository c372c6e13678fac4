// What would run if a decision were recorded.

import type { Json } from '../../core/json.ts';
import { newState } from '../../core/messages/load-messages.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import { newTurn } from '../../core/run/call.ts';
import { type Matched, mayRun } from '../../core/run/decide.ts';
import { event } from '../../core/run/event.ts';
import { fold } from '../../core/run/state.ts';
import { willRun } from './card.ts';

/** The input that runs once the decision is recorded; the input on the card if nothing runs. */
export function inputThatRuns(matched: Matched | undefined, part: ToolRequestPart): Json {
  return matched && mayRun(matched.decision) ? inputAfter(matched) : willRun(part);
}

/** What the body gets, read from the same fold that the recorded decision goes through. */
function inputAfter({ call, requestId, decision }: Matched): Json {
  const asked = { ...newState(), turn: newTurn([], [call]) };
  const made = event({ type: 'decision-made', callId: call.id, requestId, decision, resumed: true });
  const { input, runsWith = input } = fold(asked, made).turn?.calls[0] ?? call;
  return runsWith;
}
