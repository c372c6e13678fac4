// Chunks: what a stream shows of a run while it goes on, the pause included.
import { callOf } from '../../core/call.ts';
import type { Decision, RunEvent } from '../../core/event.ts';
import { copyOf } from '../../core/json.ts';
import { isToolRequest, type Part, type ToolRequestPart, type ToolResponsePart } from '../../core/message.ts';
import { requestPart, responsePart } from '../../core/messages/turn-messages.ts';
import type { State } from '../../core/state.ts';
import type { ModelChunk } from '../../models/model.ts';

/** What every chunk has. `text` is the text that this chunk adds, empty for the others. */
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

/**
 * The chunks that tell of one event; `before` and `after` are the states around it. They hold copies: whoever shows them,
 * and hides something in them, does not change what is asked, runs or is on record.
 */
export function eventChunks(event: RunEvent, before: State, after: State, index: number): readonly Chunk[] {
  switch (event.type) {
    case 'model-replied':
      return event.content
        .filter(isToolRequest)
        .map(copyOf)
        .map((part) => ({
          type: 'tool-request',
          role: 'model',
          index,
          content: [part],
          text: '',
          toolRequest: part.toolRequest,
        }));
    case 'call-interrupted': {
      const call = callOf(after, event.callId);
      if (!call || event.interrupt.kind === 'inside') return [];
      const part = copyOf(requestPart(call));
      return [{ type: 'interrupt', role: 'model', index, content: [part], text: '', interrupt: part }];
    }
    case 'decision-made': {
      const call = callOf(before, event.callId);
      if (!call || event.decision.type === 'inside') return [];
      const { ref, name } = call;
      const decision = copyOf(event.decision);
      return [{ type: 'decision', role: 'tool', index, content: [], text: '', ref, name, decision }];
    }
    case 'call-settled': {
      const call = callOf(before, event.callId);
      if (!call) return [];
      const part = copyOf(responsePart({ ...call, phase: { at: 'settled', result: event.result } }));
      return [
        { type: 'tool-response', role: 'tool', index, content: [part], text: '', toolResponse: part.toolResponse },
      ];
    }
    case 'user-spoke':
    case 'call-started':
    case 'call-went-on':
    case 'call-held':
    case 'step-done':
    case 'call-committed':
    case 'call-ended-late':
    case 'run-failed':
    case 'run-went-on':
    case 'run-ended':
      return [];
  }
}
