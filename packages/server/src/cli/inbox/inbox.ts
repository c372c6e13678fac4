// The interactive inbox: select a request, read exactly what would run, decide.
import { intro, log, outro } from '@clack/prompts';
import {
  cardAge,
  cardLines,
  cardSummary,
  decisionLine,
  headline,
  headlineAndTool,
  smallPrint,
} from '../../text/card-text.ts';
import { assigneeOn, othersReview, resultText } from '../../text/decision-text.ts';
import { clip } from '../../text/text-width.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, Card, CardQuery } from '../backend/backend.ts';
import { recordDecision } from '../backend/record-decision.ts';
import { failureOf } from '../failure.ts';
import { askDecision, VERBS, type Verb } from './ask-decision.ts';
import type { Keyboard } from './keyboard.ts';
import { openPendingList, type PendingList } from './pending-list.ts';
import { type Choice, createPrompts, type Prompts } from './prompts.ts';
import { whileReviewing } from './reviewing.ts';

/** Runs until the person quits. Throws `Interrupted` if they leave with Ctrl-C or the terminal closes. */
export async function runInbox(backend: Backend, query: CardQuery, keyboard: Keyboard): Promise<void> {
  const prompts = createPrompts(keyboard);
  intro(`Countersign inbox · ${visibleLine(backend.where)}`);
  const pending = openPendingList(backend, query, prompts.redraw);
  // Ages and assignees change with time.
  const clock = setInterval(prompts.redraw, 5_000);
  try {
    for (;;) {
      await pending.refresh();
      keyboard.signal.throwIfAborted();
      const id = await selectCard(pending, prompts, backend.person);
      if (id === undefined) return outro('Bye.');
      if (id === REFRESH) continue;
      await review(id, backend, pending, prompts, keyboard).catch(async (error: unknown) => {
        keyboard.signal.throwIfAborted();
        const { message, code } = failureOf(error);
        log.error(visibleLine(message));
        if (code === 'unreachable' || code === 'no-server') await showRecord(id, backend);
      });
    }
  } finally {
    pending.close();
    clearInterval(clock);
  }
}

/** After a lost response: a request that was decided is no longer in the list. */
async function showRecord(id: string, backend: Backend): Promise<void> {
  // The server may still be away.
  const card = await backend.card(id).catch(() => undefined);
  if (card?.decision) log.success(`Recorded on ${headlineAndTool(card)}: ${decisionLine(card)}`);
}

const REFRESH = '';

/** Returns the id of the selected request, or undefined to quit. */
async function selectCard(
  pending: PendingList,
  prompts: Prompts,
  person: string | undefined,
): Promise<string | undefined> {
  const choices: Choice<string>[] = pending.cards.size === 0 ? [{ value: REFRESH, label: 'Refresh' }] : [];
  const listed = new Set<string>();
  // New requests go to the end, so that the selection does not move.
  const listNew = () => {
    for (const id of pending.cards.keys()) {
      if (listed.has(id)) continue;
      listed.add(id);
      choices.push({
        value: id,
        get label() {
          const card = pending.cards.get(id);
          return card ? listLabel(card, person) : '(decided)';
        },
      });
    }
  };
  listNew();
  const message = () => {
    listNew();
    const { cards, hasMore, problem } = pending;
    const count = cards.size === 0 ? "You're all caught up." : `${cards.size}${hasMore ? '+' : ''} pending`;
    return withProblem(`${count} (Esc to quit)`, problem);
  };
  return prompts.select(message, choices);
}

function listLabel(card: Card, person: string | undefined): string {
  const parts = [
    headline(card),
    card.risk && `${card.risk} risk`,
    cardAge(card, Date.now()),
    assigneeText(assigneeOn(card, Date.now()), person),
  ];
  const texts = [parts.filter(Boolean).join(' · '), ...smallPrint(card), cardSummary(card)];
  return clip(texts.join('  '), (process.stdout.columns || 80) - 18);
}

function assigneeText(assignee: Card['assignee'], person: string | undefined): string {
  if (assignee === null) return '';
  const isMe = assignee.person === person;
  const who = isMe ? 'you' : visibleLine(assignee.person);
  return assignee.until === null ? `assigned to ${who}` : `${who} ${isMe ? 'are' : 'is'} reviewing`;
}

const withProblem = (message: string, problem: string | undefined): string =>
  problem === undefined ? message : `${message}\n${problem}`;

/** Shows a request and decides it. */
async function review(
  id: string,
  backend: Backend,
  pending: PendingList,
  prompts: Prompts,
  keyboard: Keyboard,
): Promise<void> {
  const card = await backend.card(id);
  const { columns = 80, rows = 24 } = process.stdout;
  const lines = cardLines(card, columns - 4, Date.now());
  log.message([...lines]);
  if (lines.length > rows - 8) log.warn('This request is longer than your screen. Scroll up to read all of it.');
  if (card.status === 'decided' || !card.mayDecide) return;
  const withStatus = (question: string) => () => {
    const current = pending.cards.get(id);
    const review = current && othersReview(current, backend.person, Date.now());
    const status = current ? review && `${review}. You can still decide.` : 'This request was decided meanwhile.';
    return withProblem(status === undefined ? question : `${question}\n${status}`, pending.problem);
  };
  const verbs = (Object.keys(VERBS) as Verb[]).filter((verb) => card.allows.includes(verb));
  const verb = await prompts.select<Verb | 'skip'>(withStatus('What do you want to do?'), [
    { value: 'skip', label: 'Skip' },
    ...verbs.map((value) => ({ value, label: VERBS[value] })),
  ]);
  if (verb === undefined || verb === 'skip') return;
  await whileReviewing(backend, card, async () => {
    const decision = await askDecision(verb, card, { prompts, keyboard, withStatus });
    if (!decision) return;
    // The digest binds the decision to the request on the screen.
    const decided = await recordDecision(backend, card, decision, { digest: card.digest });
    log.success(`${headlineAndTool(card)}: ${resultText(decided)}`);
  });
}
