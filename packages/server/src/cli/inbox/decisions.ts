// How a person comes to a decision on a card: what is asked of them for each, and what is sent then.
import type { DecisionInput } from 'countersign';
import type { DeskCard } from '../desk/desk.ts';
import { visibleLine } from '../print/visible-text.ts';
import { differenceRows } from './difference.ts';
import { editorOf, editText } from './editor.ts';
import type { Notice, Row } from './frame.ts';
import type { Backdrop, Prompts } from './prompts.ts';
import { fieldKind, misfits } from './schema-form.ts';
import type { Terminal } from './terminal.ts';

export type Asker = { readonly prompts: Prompts; readonly lend: Terminal['lend'] };

/** The decision, or undefined if the person went back, with what to tell them. */
export type Outcome = { readonly decision: DecisionInput } | { readonly notice?: Notice };

export async function askApproval(card: DeskCard, backdrop: Backdrop, { prompts }: Asker): Promise<Outcome> {
  const verb = card.kind === 'unknown-outcome' ? 'Run it again: it may then have happened twice' : 'Approve';
  const question: Row = {
    text: ` ${verb}? ${visibleLine(card.tool)} runs with exactly what is shown.`,
    format: 'bold',
  };
  return (await prompts.confirm(backdrop, [question])) === 'yes' ? { decision: { type: 'approve' } } : {};
}

export async function askRefusal(
  type: 'reject' | 'cancel',
  card: DeskCard,
  backdrop: Backdrop,
  { prompts }: Asker,
): Promise<Outcome> {
  const verb = type === 'reject' ? 'Reject' : 'Cancel';
  const question = `${verb} ${card.tool}. Why? The model is told; it may be empty.`;
  const reason = await prompts.write(backdrop, question, '', (typed) => ({ value: typed.trim() }));
  if (!reason) return {};
  return { decision: { type, ...(reason.value !== '' && { reason: reason.value }) } };
}

/** In the person's editor where they have one, otherwise field by field; nothing is sent before the change was shown. */
export async function askEdit(card: DeskCard, backdrop: Backdrop, asker: Asker): Promise<Outcome> {
  let text = JSON.stringify(card.input, null, 2);
  let input: unknown = card.input;
  for (;;) {
    const changed = await changedInput(card, text, input, backdrop, asker);
    if (!changed) return {};
    if ('problem' in changed) {
      text = changed.text;
      if ((await again(`This is no JSON: ${changed.problem}`, [], backdrop, asker)) === 'no') return {};
      continue;
    }
    input = changed.value;
    text = JSON.stringify(input, null, 2);
    const rows = differenceRows(card.input, input);
    if (rows.length === 0) return { notice: { tone: 'plain', text: 'Nothing was changed, so nothing was sent.' } };
    const problems = misfits(input, card.inputSchema);
    if (problems.length > 0) {
      if ((await again(`It does not fit: ${problems.join('; ')}`, rows, backdrop, asker)) === 'no') return {};
      continue;
    }
    const question: Row[] = [{ text: ` Approve ${visibleLine(card.tool)} with this change?`, format: 'bold' }, ...rows];
    const answer = await asker.prompts.confirm(backdrop, question, {
      tone: 'plain',
      text: 'It runs with what you wrote.',
    });
    if (answer === 'yes') return { decision: { type: 'approve', edit: input } };
    if (answer === 'no') return {};
  }
}

async function changedInput(
  card: DeskCard,
  text: string,
  input: unknown,
  backdrop: Backdrop,
  { prompts, lend }: Asker,
): Promise<{ readonly value: unknown } | { readonly problem: string; readonly text: string } | undefined> {
  const editor = editorOf();
  const isForm = fieldKind(card.inputSchema).type === 'fields';
  if (editor === undefined || isNever(editor)) {
    if (isForm) return prompts.value(backdrop, `Edit the input of ${card.tool}`, card.inputSchema, input);
    return prompts.value(backdrop, `Edit the input of ${card.tool}`, null, input);
  }
  const written = lend(() => editText(editor, `${text}\n`));
  try {
    return { value: JSON.parse(written) };
  } catch (error) {
    return { problem: (error as Error).message, text: written.trimEnd() };
  }
}

/** `EDITOR=none` asks for the form. */
const isNever = (editor: string): boolean => editor === 'none';

async function again(
  problem: string,
  rows: readonly Row[],
  backdrop: Backdrop,
  { prompts }: Asker,
): Promise<'edit' | 'no'> {
  const question: Row[] = [{ text: ' Edit it again?', format: 'bold' }, ...rows];
  const answer = await prompts.confirm(backdrop, question, { tone: 'bad', text: visibleLine(problem) });
  return answer === 'no' ? 'no' : 'edit';
}

/** An answer to a question, the result of a call whose outcome nobody knows, or a result in place of running. */
export async function askAnswer(card: DeskCard, backdrop: Backdrop, { prompts }: Asker): Promise<Outcome> {
  const question = QUESTIONS[card.kind];
  let begin: unknown;
  for (;;) {
    const given = await prompts.value(backdrop, question, card.answerSchema, begin, offeredBy(card));
    if (!given) return {};
    begin = given.value;
    const problems = misfits(begin, card.answerSchema);
    if (problems.length === 0) return { decision: { type: 'respond', output: begin } };
    const answer = await prompts.confirm(backdrop, [{ text: ' Change your answer?', format: 'bold' }], {
      tone: 'bad',
      text: `It does not fit: ${visibleLine(problems.join('; '))}`,
    });
    if (answer === 'no') return {};
  }
}

const QUESTIONS = {
  approval: 'The result to give instead of running it',
  question: 'Your answer',
  interrupt: 'The result to give instead of running it',
  'unknown-outcome': 'It happened, with this result',
  unavailable: 'The result to give instead of running it',
} as const;

/** What the asker offers to choose from, where the question says so. */
function offeredBy(card: DeskCard): readonly string[] {
  const { choices, options } = (card.input ?? {}) as { readonly choices?: unknown; readonly options?: unknown };
  const offered = [choices, options].find(Array.isArray) ?? [];
  return offered.filter((choice) => typeof choice === 'string');
}
