// A stored chat as one person may use it.
import { UsageError } from '../../core/errors.ts';
import type { Agent } from '../../loop/agent.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import type { LoadedRun, RunRecord } from '../../runs/port/store.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Person } from '../chat-options.ts';
import type { InterruptCard } from '../picture/card.ts';
import type { WriterOptions } from '../picture/writer.ts';

export type StoredChatOptions = {
  readonly agent: Agent;
  readonly runs: Runs;
  readonly tools: () => ReadonlyMap<string, ToolDefinition>;
  readonly writer: WriterOptions;
  readonly mayRead: (run: RunRecord, person: Person) => Promise<boolean>;
  readonly mayDecide: (card: InterruptCard, person: Person) => Promise<boolean>;
  readonly whilePending: 'cancel' | 'refuse';
  readonly errorText: (error: { readonly code: string; readonly message: string }) => string;
};

export type PersonalChat = StoredChatOptions & { readonly chatId: string; readonly person: Person };

/** The run of the chat with its events after `after`; undefined if it does not exist. Throws if the person may not read it. */
export async function findChat(
  { runs, agent, mayRead, chatId, person }: PersonalChat,
  after = 0,
): Promise<LoadedRun | undefined> {
  const loaded = await runs.find(chatId, { after });
  if (!loaded) return undefined;
  // A person who may not read the chat must not learn that it exists.
  if (loaded.run.agent !== agent.name || !(await mayRead(loaded.run, person))) throw unknownChat(chatId);
  return loaded;
}

export const unknownChat = (chatId: string): UsageError =>
  new UsageError('unknown-run', { status: 404, runId: chatId }, `Chat ${chatId} not found.`);
