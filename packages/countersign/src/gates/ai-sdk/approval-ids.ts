// The ids under which the AI SDK asks for approval: an answer counts only under the id of its request.
import type { UIMessage } from 'ai';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Answer, Ledger } from './ledger.ts';
import { sealsIn, toolPartOf } from './tool-part.ts';

/** Tells the ledger the id of each request, before the client receives it. */
export function bindRequests<Stream extends ReadableStream>(stream: Stream, ledger: Ledger): Stream {
  const bound = stream.pipeThrough(
    new TransformStream<Record<string, unknown>, unknown>({
      async transform(chunk, controller) {
        const { type, toolCallId, approvalId } = chunk;
        if (type === 'tool-approval-request') await ledger.asksUnder(String(toolCallId), String(approvalId));
        controller.enqueue(chunk);
      },
    }),
  );
  return bound as Stream;
}

/** The answers in posted messages. Throws if one of them is neither yes nor no: it must not count as a denial. */
export function answersIn(messages: readonly UIMessage[]): readonly Answer[] {
  return messages.flatMap(({ role, parts }) => {
    if (role !== 'assistant' || !Array.isArray(parts)) return [];
    const seals = sealsIn(parts);
    return parts.flatMap((given): Answer[] => {
      const part = toolPartOf(given);
      if (part?.state !== 'approval-responded' && part?.state !== 'output-denied') return [];
      const approval = isObject(part.approval) ? part.approval : {};
      if (part.state === 'approval-responded' && typeof approval.approved !== 'boolean')
        throw refusal(part.toolCallId, 'is neither yes nor no');
      return [{ id: part.toolCallId, approvalId: approval.id, seal: seals.get(part.toolCallId) }];
    });
  });
}

/** An answer that decides nothing. The request keeps waiting. */
export const refusal = (toolCallId: string, why: string): UsageError =>
  new UsageError(
    'invalid-request',
    { status: 400, toolCallId },
    `The answer to the call ${toolCallId} ${why}. Nothing in this post was recorded.`,
  );

export const OTHER_ID = 'has another id than its question';
