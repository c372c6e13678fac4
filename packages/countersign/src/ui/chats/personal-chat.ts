// A stored chat as one person may use it.

import { UsageError } from '../../core/errors.ts';
import { internalsOf } from '../../core/internals.ts';
import type { Agent } from '../../loop/agent.ts';
import type { WhilePending } from '../../loop/options.ts';
import type { LoadedRun, RunRecord } from '../../runs/port/store.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Person } from '../chat-options.ts';
import type { Tools } from '../picture/cards.ts';
import type { WriterOptions } from '../picture/writer.ts';

/** The options of every chat, with a store or with seals. */
export type ChatOptions = {
  readonly agent: Agent;
  readonly tools: () => Tools;
  readonly writer: WriterOptions;
  readonly whilePending: WhilePending;
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
};

export type StoredChatOptions = ChatOptions & {
  readonly runs: Runs;
  readonly mayRead: (run: RunRecord, person: Person) => Promise<boolean>;
};

export type PersonalChat = StoredChatOptions & { readonly chatId: string; readonly person: Person };

/** The run of the chat with its events after `after`; undefined if it does not exist. Throws if the person may not read it. */
export async function findChat(
  { runs, agent, mayRead, chatId, person }: PersonalChat,
  after = 0,
): Promise<LoadedRun | undefined> {
  const loaded = await internalsOf(runs).find(chatId, { after });
  if (!loaded) return undefined;
  // A person without access to the chat must not learn that it exists.
  if (loaded.run.agent !== agent.name || !(await mayRead(loaded.run, person))) throw unknownChat(chatId);
  return loaded;
}

export const unknownRequest = (requestId: string): UsageError =>
  new UsageError('unknown-request', { status: 404, requestId }, `Request ${requestId} not found in this chat.`);

export const notAllowed = ({ id }: Person, requestId: string): UsageError =>
  new UsageError('not-allowed', { status: 403, requestId }, `${id} is not allowed to decide ${requestId}.`);

export const OUTDATED = 'The request has changed since you decided. Please review it again.';

export const unknownChat = (chatId: string): UsageError =>
  new UsageError('unknown-run', { status: 404, runId: chatId }, `Chat ${chatId} not found.`);
