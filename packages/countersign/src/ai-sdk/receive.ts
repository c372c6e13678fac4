// What a client sends, made true: decisions are noted, and each call that a person decides is as the ledger knows it.
import type { UIMessage } from 'ai';
import { UsageError } from '../core/errors.ts';
import { isObject, isTooDeep } from '../core/json.ts';
import { refuseTooMany } from '../ui/http/post-limits.ts';
import type { Asks } from './asks.ts';
import { type ClaimedCall, callKey, isSameCall, type Known, type Ledger, type Place } from './ledger.ts';
import { claimOf, type ToolPart, toolNameOf, toolPartOf, truePart } from './tool-part.ts';

export async function receive<Message extends UIMessage>(
  messages: readonly Message[],
  ledger: Ledger,
  asks: Asks,
): Promise<Message[]> {
  checkMessages(messages);
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  const seen = new Map<string, Promise<Seen>>();
  const calls = callsById(messages);
  const received = await Promise.all(
    messages.map(async (message, index) => {
      if (message.role !== 'assistant' || !Array.isArray(message.parts)) return message;
      const place = { isLast: index === messages.length - 1, isPassedOver: index < lastUser };
      const parts: readonly unknown[] = message.parts;
      const seals = sealsIn(parts);
      const lastStep = parts.findLastIndex((part) => isObject(part) && part.type === 'step-start');
      const trueParts = await Promise.all(
        parts.map((part, at) => {
          const isLast = place.isLast && at > lastStep;
          const toolPart = toolPartOf(part);
          if (!toolPart) return part;
          const underId = calls.get(toolPart.toolCallId) ?? new Set();
          return settled(toolPart, { ...place, isLast, seals, underId }, seen, ledger, asks);
        }),
      );
      return { ...message, parts: trueParts.filter((part) => part !== undefined) } as Message;
    }),
  );
  await ledger.replyAt(await placeIn(messages, lastUser, seen), new Set(calls.keys()));
  return received;
}

async function placeIn(
  messages: readonly UIMessage[],
  lastUser: number,
  seen: ReadonlyMap<string, Promise<Seen>>,
): Promise<Place | undefined> {
  const messageId: unknown = messages[lastUser]?.id;
  if (typeof messageId !== 'string' || messageId === '') return undefined;
  const calls: string[] = [];
  for (const id of new Set(toolPartsIn(messages.slice(lastUser)).map(({ toolCallId }) => toolCallId)))
    if ((await seen.get(id))?.onRecord) calls.push(id);
  return { messageId, calls };
}

function callsById(messages: readonly UIMessage[]): ReadonlyMap<string, ClaimedCall['underId']> {
  const calls = new Map<string, Set<string>>();
  for (const part of toolPartsIn(messages)) {
    const key = callKey({ tool: toolNameOf(part), input: part.input });
    const before = calls.get(part.toolCallId);
    if (before) before.add(key);
    else calls.set(part.toolCallId, new Set([key]));
  }
  return calls;
}

function toolPartsIn(messages: readonly UIMessage[]): readonly ToolPart[] {
  return messages.flatMap(({ role, parts }) =>
    role === 'assistant' && Array.isArray(parts) ? parts.flatMap((part) => toolPartOf(part) ?? []) : [],
  );
}

/** They come from the client as they are: their type is only hoped for. */
function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || !messages.every(isObject))
    throw new UsageError('invalid-request', { status: 400 }, '`messages` must be a list of messages of `useChat`.');
  refuseTooMany('messages', messages.length);
  const parts: readonly unknown[] = messages.flatMap((message) => message.parts);
  refuseTooMany('parts', parts.length);
  const deep = parts.flatMap((part) => toolPartOf(part) ?? []).find(isTooDeep);
  if (deep)
    throw new UsageError(
      'invalid-request',
      { status: 400, toolCallId: deep.toolCallId },
      `What \`messages\` say of the call ${deep.toolCallId} is nested too deeply.`,
    );
}

/** What is true of a part, unless it is left out; and of the call on record under its id, as far as one was found yet. */
type Seen = { readonly part: Known | undefined; readonly onRecord: Known | undefined };

async function settled(
  given: ToolPart,
  place: Pick<ClaimedCall, 'isLast' | 'isPassedOver' | 'seals' | 'underId'>,
  seen: Map<string, Promise<Seen>>,
  ledger: Ledger,
  asks: Asks,
): Promise<ToolPart | undefined> {
  const tool = toolNameOf(given);
  // Who runs a tool of ours is not for the client to say.
  const { providerExecuted, ...part } = given;
  const isElsewhere = providerExecuted === true && asks.elsewhere(tool);
  const id = part.toolCallId;
  const isUndecided = part.state === 'approval-requested' || part.state === 'approval-responded';
  // Of a tool that asks nobody nothing is on record; whoever claims that it waits for approval is heard, and refused.
  if (!asks.ever(tool) && !isUndecided) return part;
  const confirmed = asks.byOutput(tool);
  const isGated = async () =>
    !isElsewhere && (isUndecided || asks.person(tool, part.input, { toolCallId: id, messages: [] }));
  const claimed = {
    id,
    tool,
    input: part.input,
    ...claimOf(part, confirmed),
    ...place,
    isGated,
    asksNobody: async () => !asks.elsewhere(tool) && !(await isGated()),
  };
  const before = seen.get(id);
  const settling = (async (): Promise<Seen> => {
    const onRecord = (await before)?.onRecord;
    const known = onRecord ? await beside(onRecord, claimed) : await ledger.settle(claimed);
    return { part: known, onRecord: known && known.at !== 'open-to-all' ? known : onRecord };
  })();
  seen.set(id, settling);
  const { part: known } = await settling;
  if (!known) return undefined;
  return truePart(isElsewhere && known.at === 'open-to-all' ? given : part, claimed, known, confirmed);
}

/**
 * A call has one part; what stands there a second time could only say otherwise. But providers that count their calls
 * give an id again: what asks nobody and is another call is left as it is.
 */
async function beside(onRecord: Known, claimed: ClaimedCall): Promise<Known | undefined> {
  if ('call' in onRecord && isSameCall(onRecord.call, claimed)) return undefined;
  return (await claimed.asksNobody()) ? { at: 'open-to-all' } : undefined;
}

function sealsIn(parts: readonly unknown[]): ReadonlyMap<string, string> {
  const seals = new Map<string, string>();
  for (const part of parts) {
    if (!isObject(part) || part.type !== 'data-seal' || typeof part.id !== 'string') continue;
    if (isObject(part.data) && typeof part.data.token === 'string') seals.set(part.id, part.data.token);
  }
  return seals;
}
