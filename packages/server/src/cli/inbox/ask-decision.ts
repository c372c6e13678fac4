// Asks for a decision on a request: confirm an approval, give a reason, edit the input, or answer.
import { log } from '@clack/prompts';
import type { DecisionInput } from 'countersign';
import { visibleLine } from '../../text/visible-text.ts';
import type { Card } from '../backend/backend.ts';
import { askValue, fieldOf, readText, schemaProblems } from './ask-value.ts';
import { differenceLines } from './difference.ts';
import { editorCommand, editText } from './editor.ts';
import type { Keyboard } from './keyboard.ts';
import type { Prompts } from './prompts.ts';

export const VERBS = {
  approve: 'Approve',
  edit: 'Edit and approve',
  respond: 'Answer',
  revise: 'Ask for changes',
  reject: 'Reject',
  cancel: 'Cancel',
} as const;

export type Verb = keyof typeof VERBS;

export type Asker = {
  readonly prompts: Prompts;
  readonly keyboard: Keyboard;
  /** Adds the current state of the request to a question. */
  withStatus(question: string): () => string;
};

/** Returns undefined if the person goes back. */
export async function askDecision(verb: Verb, card: Card, asker: Asker): Promise<DecisionInput | undefined> {
  const { prompts, withStatus } = asker;
  const tool = visibleLine(card.tool);
  switch (verb) {
    case 'approve': {
      const question =
        card.kind === 'doubt'
          ? `Run ${tool} again with exactly the input above? It may then happen twice.`
          : `Approve? ${tool} runs with exactly the input above.`;
      return (await prompts.confirm(withStatus(question))) ? { type: 'approve' } : undefined;
    }
    case 'reject':
    case 'cancel': {
      const title = `${VERBS[verb]} ${tool}. Reason (optional, the model sees it)`;
      const reason = (await prompts.text(title, '', () => undefined))?.trim();
      return reason === undefined ? undefined : { type: verb, ...(reason !== '' && { reason }) };
    }
    case 'revise': {
      const title = `Ask for changes to ${tool}. Which? The model sees it`;
      const comment = (
        await prompts.text(title, '', (text) => (text?.trim() ? undefined : 'Say which changes.'))
      )?.trim();
      return comment === undefined ? undefined : { type: verb, comment };
    }
    case 'edit':
      return askEdit(card, asker);
    case 'respond':
      return askAnswer(card, asker);
  }
}

/** Shows the change before it is sent. */
async function askEdit(card: Card, asker: Asker): Promise<DecisionInput | undefined> {
  const { prompts, withStatus } = asker;
  const edit = inputEditor(card, asker);
  for (;;) {
    const edited = await edit();
    if (!edited) return undefined;
    let problem = edited.problem;
    if (problem === undefined) {
      const changes = differenceLines(card.input, edited.value, card.inputSchema);
      if (changes.length === 0) {
        log.info('Nothing changed, so nothing was sent.');
        return undefined;
      }
      log.message([...changes]);
      problem = schemaProblems(edited.value, card.inputSchema).join('; ');
      if (problem === '') {
        const isSure = await prompts.confirm(withStatus(`Approve ${visibleLine(card.tool)} with this change?`));
        return isSure ? { type: 'approve', edit: edited.value } : undefined;
      }
    }
    log.error(visibleLine(`Invalid input: ${problem}`));
    if (!(await prompts.confirm(() => 'Edit again?'))) return undefined;
  }
}

type Edited = { readonly value?: unknown; readonly problem?: string };

/** Uses the person's editor if they have one, else asks field by field. Each call continues where the last one ended. */
function inputEditor(card: Card, { prompts, keyboard }: Asker): () => Promise<Edited | undefined> {
  const editor = editorCommand();
  if (editor === undefined) {
    const schema = fieldOf(card.inputSchema).type === 'object' ? card.inputSchema : null;
    let current: unknown = card.input;
    return async () => {
      const edited = await askValue(prompts, { label: `Input of ${card.tool}`, schema, current });
      if (edited) current = edited.value;
      return edited;
    };
  }
  let text = `${JSON.stringify(card.input, null, 2)}\n`;
  return async () => {
    text = keyboard.lend(() => editText(editor, `${text.trimEnd()}\n`));
    return readText(text, { type: 'json' });
  };
}

async function askAnswer(card: Card, { prompts }: Asker): Promise<DecisionInput | undefined> {
  const label = LABELS[card.kind] ?? 'Result to return instead of running it';
  const schema = card.answerSchema;
  let current: unknown;
  for (;;) {
    const asked = await askValue(prompts, { label, schema, current, offered: offeredAnswers(card) });
    if (!asked) return undefined;
    current = asked.value;
    const problems = schemaProblems(current, schema);
    if (problems.length === 0) return { type: 'respond', output: current };
    log.error(`Invalid answer: ${visibleLine(problems.join('; '))}`);
  }
}

const LABELS: { readonly [kind: string]: string } = {
  question: 'Your answer',
  doubt: 'What happened? The model gets this as the result',
};

/** The answers that the question itself offers. */
function offeredAnswers(card: Card): readonly string[] {
  const { choices, options } = (card.input ?? {}) as { readonly choices?: unknown; readonly options?: unknown };
  const offered = [choices, options].find(Array.isArray) ?? [];
  return offered.filter((choice) => typeof choice === 'string');
}
