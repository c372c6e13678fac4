// Records a post in the run of its chat: the decisions first, then the user's message.

import { voteRights } from '../../core/authority/may-decide.ts';
import { ConflictError, CountersignError, UsageError } from '../../core/errors.ts';
import { internalsOf } from '../../core/internals.ts';
import type { State } from '../../core/run/state.ts';
import { hear } from '../../loop/generate.ts';
import { cancelOpenCalls } from '../../loop/resume.ts';
import type { LoadedRun } from '../../runs/port/store.ts';
import { pendingCards, runIdOf } from '../../runs/requests/card.ts';
import { stateOfRun } from '../../runs/requests/view.ts';
import type { Person } from '../chat-options.ts';
import type { Post, PostedDecision, PostedMessage } from '../http/post.ts';
import { canHaveSeen, postedDecisions, problemsOf } from '../http/posted-decisions.ts';
import type { Problem } from '../picture/card.ts';
import { misfitOf, requestCard } from '../picture/cards.ts';
import { findChat, notAllowed, OUTDATED, type PersonalChat, unknownChat, unknownRequest } from './personal-chat.ts';
import { isLastRecorded, isRecorded, lastWithId, userMessage } from './user-message.ts';

/** Why decisions were refused, by the id of their request. */
export type Problems = ReadonlyMap<string, readonly Problem[]>;

type ReadRun = { readonly loaded: LoadedRun; readonly state: State };

/** Resolves once everything is durable. `read` is undefined if the chat does not exist yet. */
export async function recordPost(
  chat: PersonalChat,
  post: Post,
  read: ReadRun | undefined,
  signal: AbortSignal,
): Promise<Problems> {
  if (read) return recordIn(chat, post, read, signal);
  if (!post.userMessage) throw unknownChat(chat.chatId);
  if (await startChat(chat, post.userMessage)) return new Map();
  // Another request started the chat in the meantime.
  const existing = await findChat(chat);
  if (!existing) throw unknownChat(chat.chatId);
  return recordIn(chat, post, { loaded: existing, state: await stateOfRun(existing) }, signal);
}

async function startChat({ agent, chatId, person }: PersonalChat, message: PostedMessage): Promise<boolean> {
  const { id: by, context } = person;
  try {
    await agent.start({ messages: [userMessage(message)] }, { runId: chatId, by, ...(context && { context }) });
    return true;
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'run-exists') return false;
    throw error;
  }
}

async function recordIn(
  chat: PersonalChat,
  post: Post,
  { loaded, state }: ReadRun,
  signal: AbortSignal,
): Promise<Problems> {
  const { run } = loaded;
  const pending = pendingCards(chat.chatId, state);
  const { decisions, problems } = postedDecisions(post, pending);
  const refused = new Map(problems);
  let isNew = false;
  // The first write can build on the loaded run; after that it has changed.
  let unchanged: LoadedRun | undefined = loaded;
  for (const decision of decisions) {
    const found = await decide(chat, decision, unchanged);
    unchanged = undefined;
    if (found) refused.set(decision.requestId, found);
    isNew ||= found !== undefined || pending.has(decision.requestId);
  }
  const { userMessage: message, regenerate, withdraw } = post;
  if (withdraw) refuseWithdrawing(chat);
  const retries =
    run.status === 'failed' && !withdraw && (message ? regenerate || isLastRecorded(state, message) : !isNew);
  const { context } = chat.person;
  if (retries) await chat.runs.drive(chat.chatId, context ? { context } : {});
  else if (message || withdraw) {
    // A page that edits a message, or asks for another reply, does not post the messages after it.
    const isCut = message !== undefined && lastWithId(state, message.id) !== undefined;
    const seen = decisions.length === 0 && !isCut && canHaveSeen(post, pending) ? run.version : 0;
    await speak(chat, message, { regenerate, withdraw, seen, signal, read: unchanged });
  }
  return refused;
}

/** Decisions that the person can correct and send again. */
const CORRECTABLE: ReadonlySet<string> = new Set(['invalid-resume', 'invalid-decision', 'not-json']);

/** Returns why the decision was refused, if the person can correct it or was too late. */
async function decide(
  chat: PersonalChat,
  { requestId, decision, digest, note }: PostedDecision,
  read: LoadedRun | undefined,
): Promise<readonly Problem[] | undefined> {
  const { runs, agent, chatId, person } = chat;
  const { id: by, roles, context } = person;
  if (person.mayDecide === false) throw notAllowed(person, requestId);
  if (runIdOf(requestId) !== chatId) throw unknownRequest(requestId);
  // The request may be newer than the loaded chat: an earlier decision of this post may have led to it.
  const card = requestCard(await runs.request(requestId), agent, true);
  /** Only a permitted decider learns why the decision is invalid. */
  const problem = async (problems: readonly Problem[]): Promise<readonly Problem[]> => {
    if (card.status !== 'pending' || (await mayVote(runs, requestId, person))) return problems;
    throw notAllowed(person, requestId);
  };
  const misfit = card.status === 'pending' ? misfitOf(card, decision) : undefined;
  if (misfit !== undefined) return problem([{ path: [], message: misfit }]);
  try {
    const options = {
      by,
      channel: 'chat',
      ...(roles && { roles }),
      ...(note !== undefined && { note }),
      ...(digest !== undefined && { digest }),
      ...(context && { context }),
    };
    await internalsOf(runs).decide(requestId, decision, options, read);
    return undefined;
  } catch (error) {
    // The card in the stream shows who decided, and how.
    if (error instanceof ConflictError && error.code === 'already-decided')
      return [{ path: [], message: 'This was already decided. Your decision was not saved.' }];
    if (error instanceof ConflictError && error.code === 'outdated-card')
      return problem([{ path: [], message: OUTDATED }]);
    if (error instanceof UsageError && CORRECTABLE.has(error.code)) return problem(problemsOf(error));
    throw error;
  }
}

/** The policies of the request let this person vote on it. */
async function mayVote(runs: PersonalChat['runs'], requestId: string, { id, roles = [] }: Person): Promise<boolean> {
  const request = await runs.request(requestId);
  const { policies, requesters, progress } = request;
  const ballot = { votes: progress?.votes ?? [], requesters, escalatedTo: progress?.escalatedTo ?? [] };
  return voteRights(policies, ballot, await internalsOf(runs).votersFor(id, roles)).mayVote;
}

/** The option of the route says that messages wait for decisions, so the browser cannot change that. */
function refuseWithdrawing({ whilePending, chatId }: PersonalChat): void {
  if (whilePending === 'auto' || whilePending === 'cancel') return;
  const message = 'In this chat, a message withdraws no pending requests. Decide them first.';
  throw new UsageError('decision-pending', { status: 409, runId: chatId }, message);
}

type SpokenOptions = {
  readonly regenerate: boolean;
  readonly withdraw: boolean;
  /** How many events the user can have seen. */
  readonly seen: number;
  readonly signal: AbortSignal;
  readonly read: LoadedRun | undefined;
};

/** Adds the message. With `withdraw`, the pending requests are withdrawn for it, or for the messages that wait. */
async function speak(
  { runs, chatId, person, whilePending }: PersonalChat,
  posted: PostedMessage | undefined,
  { regenerate, withdraw, ...options }: SpokenOptions,
): Promise<void> {
  const { id: by, roles, mayDecide, context } = person;
  const speaker = whilePending === 'auto' && !withdraw ? { by, roles, mayDecide } : undefined;
  await internalsOf(runs).speak(
    chatId,
    (run, kept) => {
      // A message that is posted again is recorded once.
      const isNew = posted && (regenerate || !isRecorded(run.state, posted));
      const does = withdraw || run.state.ended ? 'cancel' : whilePending;
      // Nothing is pending in a run that has ended.
      if (isNew) hear(run, [userMessage(posted, regenerate)], does, kept, by);
      else if (withdraw && run.state.queued.length > 0) cancelOpenCalls(run, kept, by);
    },
    { ...options, speaker, by, ...(context && { context }) },
  );
}
