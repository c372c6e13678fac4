// Chunks: the parts of a run that a stream shows, pauses included.

import { copyOf } from '../../core/json.ts';
import { isToolRequest, type Part, type ToolRequestPart, type ToolResponsePart } from '../../core/messages/message.ts';
import { requestPart, responsePart } from '../../core/messages/turn-messages.ts';
import { callOf } from '../../core/run/call.ts';
import type { Decision, RunEvent } from '../../core/run/event.ts';
import type { State } from '../../core/run/state.ts';
import type { ModelChunk } from '../../models/model.ts';

/** Fields of every chunk. `text` is the text that this chunk adds; empty for other types. */
type Common = {
  readonly role: 'model' | 'tool';
  /** Which reply of this `generate` it belongs to, from 0. */
  readonly index: number;
  readonly content: readonly Part[];
  readonly text: string;
  /** The calls that lead to the agent it comes from; absent at the root. */
  readonly path?: readonly string[];
};

/** One thing that happens in a run, as streams and `onChunk` show it. */
export type Chunk = Common &
  (
    | { readonly type: 'text' }
    | { readonly type: 'reasoning'; readonly reasoning: string }
    /** A piece of a call's input, as JSON text, while the model writes it. */
    | { readonly type: 'tool-input'; readonly ref: string; readonly name: string; readonly delta: string }
    | { readonly type: 'tool-request'; readonly toolRequest: ToolRequestPart['toolRequest'] }
    /** The run pauses here, or will when the other calls are done. */
    | { readonly type: 'interrupt'; readonly interrupt: ToolRequestPart }
    | { readonly type: 'decision'; readonly ref: string; readonly name: string; readonly decision: Decision }
    | { readonly type: 'tool-response'; readonly toolResponse: ToolResponsePart['toolResponse'] }
  );

export function modelChunk(chunk: ModelChunk, index: number): Chunk {
  const common = { role: 'model', index, text: '' } as const;
  switch (chunk.type) {
    case 'text':
      return { type: 'text', role: 'model', index, content: [{ text: chunk.text }], text: chunk.text };
    case 'reasoning':
      return { ...common, type: 'reasoning', content: [{ reasoning: chunk.text }], reasoning: chunk.text };
    case 'tool-input':
      return { ...common, type: 'tool-input', content: [], ref: chunk.ref, name: chunk.name, delta: chunk.delta };
  }
}

/** The chunks of one event, with the states around it. They hold copies, so that a listener cannot change the run. */
export function eventChunks(event: RunEvent, before: State, after: State, index: number): readonly Chunk[] {
  const asks = { role: 'model', index, text: '' } as const;
  const answers = { role: 'tool', index, text: '' } as const;
  switch (event.type) {
    case 'model-replied':
      return event.content.filter(isToolRequest).map((request) => {
        const part = copyOf(request);
        return { ...asks, type: 'tool-request', content: [part], toolRequest: part.toolRequest };
      });
    case 'call-interrupted': {
      const call = callOf(after, event.callId);
      if (!call || event.request.kind === 'inside') return [];
      const part = copyOf(requestPart(call));
      return [{ ...asks, type: 'interrupt', content: [part], interrupt: part }];
    }
    case 'decision-made': {
      const call = callOf(before, event.callId);
      if (!call || event.decision.type === 'inside') return [];
      const { ref, name } = call;
      return [{ ...answers, type: 'decision', content: [], ref, name, decision: copyOf(event.decision) }];
    }
    case 'call-settled': {
      const call = callOf(before, event.callId);
      if (!call) return [];
      const part = copyOf(responsePart({ ...call, phase: { at: 'settled', result: event.result } }));
      return [{ ...answers, type: 'tool-response', content: [part], toolResponse: part.toolResponse }];
    }
    case 'user-spoke':
    case 'call-granted':
    case 'call-judged':
    case 'call-started':
    case 'call-renewed':
    case 'call-cleared':
    case 'call-went-on':
    case 'call-held':
    case 'call-frozen':
    case 'run-unfrozen':
    case 'step-done':
    case 'call-committed':
    case 'call-ended-late':
    case 'vote-cast':
    case 'request-escalated':
    case 'request-assigned':
    case 'request-commented':
    case 'votes-withdrawn':
    case 'policy-applied':
    case 'run-failed':
    case 'run-went-on':
    case 'run-ended':
      return [];
  }
}
