// Verifies posted messages: records decisions, and replaces each gated call by what the ledger knows of it.
import type { UIMessage } from 'ai';
import { UsageError } from '../../core/errors.ts';
import { isObject, isTooDeep } from '../../core/json.ts';
import { refuseTooMany } from '../../ui/http/post-limits.ts';
import { answersIn } from './approval-ids.ts';
import type { ApprovalRules } from './approval-rules.ts';
import { type ClaimedCall, callKey, isSameCall, type Known, type Ledger, type Place } from './ledger.ts';
import { claimOf, sealsIn, type ToolPart, toolNameOf, toolPartOf, truePart } from './tool-part.ts';

export async function receive<Message extends UIMessage>(
  messages: readonly Message[],
  ledger: Ledger,
  rules: ApprovalRules,
): Promise<Message[]> {
  checkMessages(messages);
  await ledger.checkAnswers(answersIn(messages));
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
          return settled(toolPart, { ...place, isLast, seals, underId }, seen, ledger, rules);
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

/** Messages come from the client, so their type is not guaranteed. */
function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || !messages.every(isObject))
    throw new UsageError('invalid-request', { status: 400 }, '`messages` must be an array of `useChat` messages.');
  refuseTooMany('messages', messages.length);
  const parts: readonly unknown[] = messages.flatMap((message) => message.parts);
  refuseTooMany('parts', parts.length);
  const deep = parts.flatMap((part) => toolPartOf(part) ?? []).find(isTooDeep);
  if (deep)
    throw new UsageError(
      'invalid-request',
      { status: 400, toolCallId: deep.toolCallId },
      `The call ${deep.toolCallId} in \`messages\` is nested too deeply.`,
    );
}

/** The truth about a part, undefined if it is dropped; and about the recorded call with its id, if one was found. */
type Seen = { readonly part: Known | undefined; readonly onRecord: Known | undefined };

async function settled(
  given: ToolPart,
  place: Pick<ClaimedCall, 'isLast' | 'isPassedOver' | 'seals' | 'underId'>,
  seen: Map<string, Promise<Seen>>,
  ledger: Ledger,
  rules: ApprovalRules,
): Promise<ToolPart | undefined> {
  const tool = toolNameOf(given);
  // The client must not claim that a provider runs one of our tools.
  const { providerExecuted, ...part } = given;
  const isAtProvider = providerExecuted === true && rules.runsAtProvider(tool);
  const id = part.toolCallId;
  const isUndecided = part.state === 'approval-requested' || part.state === 'approval-responded';
  // Tools without approval have no records. A claim that such a call waits for approval is checked, and refused.
  if (!rules.mayNeedApproval(tool) && !isUndecided) return part;
  const confirmed = rules.isDecidedByOutput(tool);
  const isGated = async () =>
    !isAtProvider && (isUndecided || rules.needsApproval(tool, part.input, { toolCallId: id, messages: [] }));
  const claimed = {
    id,
    tool,
    input: part.input,
    ...claimOf(part, confirmed),
    ...place,
    isGated,
    needsNoApproval: async () => !rules.runsAtProvider(tool) && !(await isGated()),
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
  return truePart(isAtProvider && known.at === 'open-to-all' ? given : part, claimed, known, confirmed);
}

/**
 * A call has one part; a second part with its id is dropped. But providers that number their calls reuse ids: another
 * call that needs no approval is kept.
 */
async function beside(onRecord: Known, claimed: ClaimedCall): Promise<Known | undefined> {
  if ('call' in onRecord && isSameCall(onRecord.call, claimed)) return undefined;
  return (await claimed.needsNoApproval()) ? { at: 'open-to-all' } : undefined;
}
