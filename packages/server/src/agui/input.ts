// The input of a run: the new message of the user, and the answers to interrupts. The rest of it is ignored, because the
// record has the conversation and the agent has its own tools.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import type { ChatMessage, ChatPart } from 'countersign/ui';
import { MOST_ITEMS } from '../schemas/decisions.ts';

const idShape = z.string().min(1).max(500);

const ResumeEntryShape = z
  .looseObject({
    interruptId: z.string().max(1000),
    status: z.enum(['resolved', 'cancelled']),
    payload: z.any().optional().openapi({ description: 'The answer, as the `responseSchema` of the interrupt says.' }),
  })
  .openapi('ResumeEntry');

export type ResumeEntry = z.output<typeof ResumeEntryShape>;

const MessageShape = z.looseObject({
  id: z.string().max(256),
  role: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
});

export const RunInputShape = z
  .looseObject({
    threadId: idShape.openapi({ description: 'Any string, or the id of a run that the caller can read.' }),
    runId: idShape,
    protocolVersion: z.string().max(50).nullish(),
    messages: z.array(MessageShape).max(5_000),
    resume: z.array(ResumeEntryShape).max(MOST_ITEMS).nullish(),
  })
  .openapi('RunAgentInput', { description: 'The `RunAgentInput` of AG-UI. Other fields are ignored.' });

export type RunInput = z.output<typeof RunInputShape>;

/**
 * What the user said since the model last spoke and the record does not have yet, as one message of the chat. Throws
 * `invalid-request` if it has neither text nor files.
 */
export function newUserMessage({ messages }: RunInput, recorded: readonly ChatMessage[]): ChatMessage | undefined {
  const known = new Set(recorded.map(({ id }) => id));
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const said = since.filter(({ id, role }) => role === 'user' && !known.has(id));
  const last = said.at(-1);
  if (!last) return undefined;
  const parts = said.flatMap(({ content }) => partsOf(content));
  if (parts.length > 0) return { id: last.id, role: 'user', parts };
  throw new UsageError('invalid-request', { status: 400 }, 'The message of the user has neither text nor files.');
}

function partsOf(content: RunInput['messages'][number]['content']): readonly ChatPart[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  return parts.flatMap((part: ChatPart) => {
    if (part.type === 'text') return typeof part.text === 'string' && part.text !== '' ? [part] : [];
    const file = fileOf(part.source);
    return file ? [{ type: 'file', ...file }] : [];
  });
}

/** Undefined for a file that cannot be passed on: handles of providers, and URLs other than https. */
function fileOf(source: unknown): { readonly url: string; readonly mediaType?: string } | undefined {
  const { type, value, mimeType } = (source ?? {}) as Record<string, unknown>;
  if (typeof value !== 'string') return undefined;
  const mediaType = typeof mimeType === 'string' ? { mediaType: mimeType } : {};
  if (type === 'data')
    return { url: `data:${String(mimeType ?? 'application/octet-stream')};base64,${value}`, ...mediaType };
  return type === 'url' && /^https:/i.test(value) ? { url: value, ...mediaType } : undefined;
}
