// The interactive inbox: select a request, read exactly what would run, decide.
import { intro, log, outro } from '@clack/prompts';
import type { DecisionInput } from 'countersign';
import type { Backend, Card, CardQuery } from '../backend/backend.ts';
import { recordDecision } from '../backend/record-decision.ts';
import { failureOf } from '../failure.ts';
import { holdOn, othersHold, recordedText } from '../print/decision-text.ts';
import { shortTime } from '../print/moment.ts';
import { clip } from '../print/text-width.ts';
import { visibleLine } from '../print/visible-text.ts';
import { askValue, fieldOf, schemaProblems } from './ask-value.ts';
import { cardAge, cardLines, cardSummary } from './card-text.ts';
import { differenceLines } from './difference.ts';
import { editorCommand, editText } from './editor.ts';
import { withHold } from './hold.ts';
import type { Keyboard } from './keyboard.ts';
import { type Choice, createPrompts } from './prompts.ts';

const PAGE = 200;
type Verb = 'approve' | 'edit' | 'reject' | 'respond' | 'cancel';

/** Runs until the person quits. Throws `Interrupted` if they leave with Ctrl-C or the terminal closes. */
export async function runInbox(backend: Backend, query: CardQuery, keyboard: Keyboard): Promise<void> {
  const prompts = createPrompts(keyboard);
  /** Pending requests by id, oldest first. */
  let cards: ReadonlyMap<string, Card> = new Map();
  let hasMore = false;
  let problem: string | undefined;
  let onRefresh = () => {};

  const load = async () => {
    try {
      const page = await backend.cards({ ...query, limit: PAGE });
      cards = new Map(page.items.map((card) => [card.id, card]));
      hasMore = page.cursor !== null;
      problem = undefined;
    } catch (error) {
      problem = `Cannot load requests: ${visibleLine(failureOf(error).message)}`;
    }
    onRefresh();
    prompts.redraw();
  };
  /** One load at a time. A change during a load starts one more, because that load may have read too early. */
  let loading = Promise.resolve();
  let isQueued = false;
  const refresh = () => {
    if (isQueued) return loading;
    isQueued = true;
    loading = loading.then(() => {
      isQueued = false;
      return load();
    });
    return loading;
  };
  const onConnection = (isConnected: boolean) => {
    if (isConnected) problem = undefined;
    else problem ??= `Lost connection to ${visibleLine(backend.where)} at ${shortTime(Date.now())}. Retrying …`;
    prompts.redraw();
  };
  const withProblem = (message: string) => (problem === undefined ? message : `${message}\n${problem}`);

  /** Returns the id of the selected request, or undefined to quit. */
  async function selectCard(): Promise<string | undefined> {
    const label = (id: string) => {
      const card = cards.get(id);
      return card ? listLabel(card, backend.person) : '(decided)';
    };
    const choice = (id: string): Choice<string> => ({
      value: id,
      get label() {
        return label(id);
      },
    });
    const choices = [...cards.keys()].map(choice);
    const known = new Set(cards.keys());
    const isEmpty = known.size === 0;
    if (isEmpty) choices.push({ value: '', label: 'Refresh' });
    onRefresh = () => {
      // New requests go to the end: the selection must not move below the person's finger.
      for (const id of cards.keys()) if (!known.has(id) && known.add(id)) choices.push(choice(id));
    };
    const message = () => {
      const count = `${cards.size}${hasMore ? '+' : ''} pending`;
      return withProblem(cards.size === 0 ? "You're all caught up. (Esc to quit)" : `${count} (Esc to quit)`);
    };
    return prompts.select(message, choices);
  }

  async function review(id: string): Promise<void> {
    const card = await backend.card(id);
    const lines = cardLines(card, (process.stdout.columns || 80) - 4, Date.now());
    log.message([...lines]);
    if (lines.length > (process.stdout.rows || 24) - 8)
      log.warn('This request is longer than your screen. Scroll up to read all of it.');
    if (card.status === 'decided' || !card.mayDecide) return;
    const status = (question: string) => () => {
      const current = cards.get(id);
      const hold = current && othersHold(current, backend.person, Date.now());
      return withProblem(
        [question, hold && `${hold}. You can still decide.`, !current && 'This request was decided meanwhile.']
          .filter(Boolean)
          .join('\n'),
      );
    };
    const verb = await prompts.select<Verb | 'skip'>(status('What do you want to do?'), [
      { value: 'skip', label: 'Skip' },
      ...VERBS.filter(([value]) => card.allows.includes(value)).map(([value, label]) => ({ value, label })),
    ]);
    if (verb === undefined || verb === 'skip') return;
    await withHold(backend, card, async () => {
      const decision = await askDecision(verb, card, status);
      if (!decision) return;
      // The digest binds the decision to what was shown.
      const decided = await recordDecision(backend, card, decision, { digest: card.digest });
      log.success(`${visibleLine(card.tool)}: ${recordedText(decided)}`);
    });
  }

  async function askDecision(
    verb: Verb,
    card: Card,
    status: (question: string) => () => string,
  ): Promise<DecisionInput | undefined> {
    const tool = visibleLine(card.tool);
    switch (verb) {
      case 'approve': {
        const question =
          card.kind === 'unknown-outcome'
            ? `Run ${tool} again with exactly the input above? It may then happen twice.`
            : `Approve? ${tool} runs with exactly the input above.`;
        return (await prompts.confirm(status(question))) ? { type: 'approve' } : undefined;
      }
      case 'reject':
      case 'cancel': {
        const title = `${verb === 'reject' ? 'Reject' : 'Cancel'} ${tool}. Reason (optional, the model sees it)`;
        const reason = await prompts.text(title, '', () => undefined);
        return reason === undefined
          ? undefined
          : { type: verb, ...(reason.trim() !== '' && { reason: reason.trim() }) };
      }
      case 'edit':
        return askEdit(card, status);
      case 'respond':
        return askAnswer(card);
    }
  }

  /** Uses the person's editor if they have one, else asks field by field. Shows the change before it is sent. */
  async function askEdit(card: Card, status: (question: string) => () => string): Promise<DecisionInput | undefined> {
    const editor = editorCommand();
    const isObject = fieldOf(card.inputSchema).type === 'object';
    let text = JSON.stringify(card.input, null, 2);
    let edited: unknown = card.input;
    for (;;) {
      let issue: string | undefined;
      if (editor === undefined) {
        const schema = isObject ? card.inputSchema : null;
        const answer = await askValue(prompts, `Input of ${card.tool}`, schema, edited);
        if (!answer) return undefined;
        edited = answer.value;
      } else {
        text = keyboard.lend(() => editText(editor, `${text.trimEnd()}\n`));
        try {
          edited = JSON.parse(text);
        } catch (error) {
          issue = `Not valid JSON: ${visibleLine((error as Error).message)}`;
        }
      }
      if (issue === undefined) {
        const changes = differenceLines(card.input, edited);
        if (changes.length === 0) {
          log.info('Nothing changed, so nothing was sent.');
          return undefined;
        }
        log.message([...changes]);
        const problems = schemaProblems(edited, card.inputSchema);
        if (problems.length === 0)
          return (await prompts.confirm(status(`Approve ${visibleLine(card.tool)} with this change?`)))
            ? { type: 'approve', edit: edited }
            : undefined;
        issue = `Invalid input: ${visibleLine(problems.join('; '))}`;
      }
      log.error(issue);
      if (!(await prompts.confirm(() => 'Edit again?'))) return undefined;
    }
  }

  async function askAnswer(card: Card): Promise<DecisionInput | undefined> {
    const title = card.kind === 'question' ? 'Your answer' : 'Result to return instead of running it';
    let answer: unknown;
    for (;;) {
      const asked = await askValue(prompts, title, card.answerSchema, answer, offeredAnswers(card));
      if (!asked) return undefined;
      answer = asked.value;
      const problems = schemaProblems(answer, card.answerSchema);
      if (problems.length === 0) return { type: 'respond', output: answer };
      log.error(`Invalid answer: ${visibleLine(problems.join('; '))}`);
    }
  }

  intro(`Countersign inbox · ${visibleLine(backend.where)}`);
  const stopWatching = backend.watch(() => void refresh(), onConnection);
  // Ages and holds change with time.
  const clock = setInterval(prompts.redraw, 5_000);
  try {
    for (;;) {
      await refresh();
      keyboard.signal.throwIfAborted();
      const id = await selectCard();
      if (id === undefined) return outro('Bye.');
      if (id === '') continue;
      await review(id).catch((error: unknown) => {
        keyboard.signal.throwIfAborted();
        log.error(visibleLine(failureOf(error).message));
      });
    }
  } finally {
    stopWatching();
    clearInterval(clock);
  }
}

const VERBS: readonly (readonly [verb: Verb, label: string])[] = [
  ['approve', 'Approve'],
  ['edit', 'Edit and approve'],
  ['respond', 'Answer'],
  ['reject', 'Reject'],
  ['cancel', 'Cancel'],
];

function listLabel(card: Card, person: string | undefined): string {
  const hold = holdOn(card, Date.now());
  const holder = hold === null ? '' : hold.by === person ? 'you are reviewing' : `${visibleLine(hold.by)} is reviewing`;
  const parts = [visibleLine(card.tool), card.risk && `${card.risk} risk`, cardAge(card, Date.now()), holder];
  return clip(`${parts.filter(Boolean).join(' · ')}  ${cardSummary(card)}`, (process.stdout.columns || 80) - 18);
}

/** The answers that the question itself offers. */
function offeredAnswers(card: Card): readonly string[] {
  const { choices, options } = (card.input ?? {}) as { readonly choices?: unknown; readonly options?: unknown };
  const offered = [choices, options].find(Array.isArray) ?? [];
  return offered.filter((choice) => typeof choice === 'string');
}
