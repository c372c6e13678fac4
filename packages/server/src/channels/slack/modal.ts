// Views that Slack opens over a message: a form for an edit, an answer or a reason, or a text with a link.
import { z } from '@hono/zod-openapi';
import type { DecisionInput, Json } from 'countersign';
import { type Form, type FormField, type FormProblem, type FormStrings, formOf, readForm } from 'countersign/request';
import { decisionFor } from '../../decision-for.ts';
import type { ApiRequest } from '../../schemas/request.ts';
import { type Block, linkButton, MOST_IN_INPUT, plain, section } from './blocks.ts';
import type { Target } from './target.ts';
import type { Place } from './tell.ts';

/** The decisions that need more than a press. */
export type FormVerb = 'edit' | 'respond' | 'revise' | 'reject';

export type View = { readonly [field: string]: Json };

/** What the view remembers while it is open. Only Slack and this channel see it. */
export type Remembered = {
  readonly verb: FormVerb;
  readonly target: Target;
  readonly place: Place;
  readonly form: Form;
};

/** Views of other programs have other ids. */
export const CALLBACK = 'countersign';

/** The form for a request; undefined if a view cannot show it. */
export function formFor(
  verb: FormVerb,
  card: Pick<ApiRequest, 'inputSchema' | 'input' | 'answerSchema'>,
): Form | undefined {
  switch (verb) {
    case 'edit':
      return formOf(card.inputSchema, card.input as Json);
    case 'respond':
      return labelled(formOf(card.answerSchema), 'Your answer');
    case 'revise':
      return CHANGES;
    case 'reject':
      return REASON;
  }
}

const TEXT = {
  description: 'The agent reads it.',
  blank: 'empty',
  type: 'text',
  multiline: true,
} as const;

const REASON: Form = {
  single: true,
  fields: [{ ...TEXT, name: 'reason', label: 'Reason', required: false, maxLength: MOST_IN_INPUT }],
};

const CHANGES: Form = {
  single: true,
  fields: [{ ...TEXT, name: 'comment', label: 'Changes', required: true, maxLength: 2_000 }],
};

const labelled = (form: Form | undefined, label: string): Form | undefined =>
  form?.single ? { ...form, fields: form.fields.map((field) => ({ ...field, label })) } : form;

const WORDS = {
  edit: { title: 'Edit and approve', submit: 'Approve' },
  respond: { title: 'Answer', submit: 'Send' },
  revise: { title: 'Ask for changes', submit: 'Send' },
  reject: { title: 'Reject', submit: 'Reject' },
} as const;

/** Slack keeps at most so many characters for a view. */
const MOST_REMEMBERED = 3_000;

/** The view with the form; undefined if it does not fit. */
export function formView(remembered: Remembered): View | undefined {
  const { verb, form } = remembered;
  const inputs = form.fields.map(inputBlock);
  const memory = JSON.stringify({ ...remembered, form: { ...form, fields: form.fields.map(rulesOf) } });
  if (memory.length > MOST_REMEMBERED || !inputs.every((input) => input !== undefined)) return undefined;
  return {
    ...frame(verb),
    callback_id: CALLBACK,
    private_metadata: memory,
    submit: plain(WORDS[verb].submit),
    blocks: inputs,
  };
}

/** A view that decides nothing. */
export function textView(verb: FormVerb, text: string, url?: string): View {
  const link = url === undefined ? [] : [{ type: 'actions', elements: [linkButton('Open request', url)] }];
  return { ...frame(verb), blocks: [section(plain(text)), ...link] };
}

const frame = (verb: FormVerb): View => ({
  type: 'modal',
  title: plain(WORDS[verb].title),
  close: plain('Cancel'),
});

/** Reads what the person entered: a decision, or problems by the block that each belongs to. */
export function readView(
  { verb, form }: Pick<Remembered, 'verb' | 'form'>,
  state: ViewState,
): { readonly decision: DecisionInput } | { readonly problems: Readonly<Record<string, string>> } {
  const strings: FormStrings = Object.fromEntries(
    form.fields.map(({ name }, index) => [name, enteredIn(state[blockId(index)])]),
  );
  const read = readForm(form, strings);
  if ('problems' in read) return { problems: problemsOf(form, read.problems) };
  const { value } = read;
  return { decision: decisionFor(verb, verb === 'reject' && value !== '' ? { reason: String(value) } : { value }) };
}

function problemsOf({ fields }: Form, problems: readonly FormProblem[]): Readonly<Record<string, string>> {
  const blockOf = (name: string) =>
    blockId(
      Math.max(
        0,
        fields.findIndex((field) => field.name === name),
      ),
    );
  return Object.fromEntries(problems.map(({ field, message }) => [blockOf(field), message]));
}

const EnteredShape = z.looseObject({
  value: z.string().nullish(),
  selected_date: z.string().nullish(),
  selected_option: z.looseObject({ value: z.string() }).nullish(),
});

/** What Slack says about the inputs, by the ids of the block and of its element. */
export const ViewStateShape = z.record(z.string(), z.record(z.string(), EnteredShape));

type ViewState = z.infer<typeof ViewStateShape>;

const ENTERED = 'entered';

/** Slack does not tell an empty input from none. */
function enteredIn(block: ViewState[string] | undefined): string {
  const { value, selected_date: date, selected_option: option } = block?.[ENTERED] ?? {};
  return value ?? date ?? option?.value ?? '';
}

/** By place, because the names of properties could be anything. */
const blockId = (index: number): string => `f${index}`;

/** What reading needs. Labels and starts are only shown. */
function rulesOf(field: FormField): FormField {
  const { description: _description, start: _start, ...rules } = field;
  if (rules.type !== 'choice') return { ...rules, label: '' };
  return { ...rules, label: '', options: rules.options.map((option) => ({ ...option, label: '' })) };
}

const MOST_IN_LABEL = 2_000;

function inputBlock(field: FormField, index: number): Block | undefined {
  const { label, description, required } = field;
  const element = elementOf(field);
  if (!element || Math.max(label.length, description?.length ?? 0) > MOST_IN_LABEL / 5) return undefined;
  return {
    type: 'input',
    block_id: blockId(index),
    optional: !required,
    label: plain(label),
    element: { ...element, action_id: ENTERED },
    ...(description !== undefined && description !== '' && { hint: plain(description) }),
  };
}

function elementOf(field: FormField): Block | undefined {
  const { start } = field;
  switch (field.type) {
    case 'text':
      return textElement(start, field.multiline);
    case 'number':
      // Slack takes numbers without an exponent.
      if (start !== undefined && !/^-?\d+(?:\.\d+)?$/.test(start)) return textElement(start, false);
      return {
        type: 'number_input',
        is_decimal_allowed: !field.integer,
        ...(start !== undefined && { initial_value: start }),
      };
    case 'date':
      return { type: 'datepicker', ...(start !== undefined && { initial_date: start }) };
    case 'boolean':
      return selectElement(YES_NO, start);
    case 'choice':
      return selectElement(field.options, start);
  }
}

/** Slack may trim a text, so one that begins or ends with spaces is edited elsewhere. */
function textElement(start: string | undefined, multiline: boolean): Block | undefined {
  if (start !== undefined && (start.length > MOST_IN_INPUT || start.trim() !== start)) return undefined;
  return {
    type: 'plain_text_input',
    multiline,
    ...(start !== undefined && start !== '' && { initial_value: start }),
  };
}

const YES_NO = [
  { id: 'true', label: 'Yes' },
  { id: 'false', label: 'No' },
] as const;

const MOST_OPTIONS = 100;
const MOST_IN_OPTION = 75;

function selectElement(
  given: readonly { readonly id: string; readonly label: string }[],
  start: string | undefined,
): Block | undefined {
  const options = given.map(({ id, label }) => ({ text: plain(label), value: id }));
  const isShown = options.every(({ text }) => String(text.text).length <= MOST_IN_OPTION);
  if (options.length > MOST_OPTIONS || !isShown) return undefined;
  const initial = options.find(({ value }) => value === start);
  return { type: 'static_select', options, ...(initial && { initial_option: initial }) };
}
