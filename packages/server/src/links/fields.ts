// The inputs of a plain form as HTML.
import type { Form, FormField, FormProblem } from 'countersign/request';
import { escaped } from '../pages/html.ts';
import { hidesCharacters, visibleLine } from '../text/visible-text.ts';
import { lineHtml } from './value-html.ts';

export type Filled = {
  /** What the person entered before; the form's own start if absent. */
  readonly posted: URLSearchParams | undefined;
  readonly problems: readonly FormProblem[];
  /** Answers to choose from besides free text. */
  readonly suggested: readonly string[];
};

/** Inputs are named by their place, because the names of properties could be anything. */
export function fieldsHtml({ fields, single }: Form, { posted, problems, suggested }: Filled): string {
  const names = new Set(fields.map(({ name }) => name));
  // A problem of the answer as a whole is a problem of its only field.
  const general = single ? [] : problems.filter(({ field }) => !names.has(field));
  const inputs = fields.map((field, index) => {
    const own = single ? problems : problems.filter((problem) => problem.field === field.name);
    const value = posted ? (posted.get(`f${index}`) ?? '') : (field.start ?? '');
    return fieldHtml(
      single ? { ...field, label: 'Your answer' } : field,
      `f${index}`,
      value,
      own,
      single ? suggested : [],
    );
  });
  return [...general.map(problemHtml), ...inputs].join('\n');
}

const problemHtml = ({ message }: FormProblem): string =>
  `<span class="problem" role="alert">${escaped(message)}</span>`;

function fieldHtml(
  field: FormField,
  id: string,
  value: string,
  problems: readonly FormProblem[],
  suggested: readonly string[],
): string {
  const optional = field.blank === 'absent' ? ' (optional)' : field.blank === 'null' ? ' (may be empty)' : '';
  const about =
    field.description === undefined ? '' : `<span class="small">${escaped(visibleLine(field.description))}</span>`;
  const attributes = `name="${id}"${field.required ? ' required' : ''}${problems.length > 0 ? ' aria-invalid="true"' : ''}`;
  return `<label class="field"><span dir="auto">${escaped(visibleLine(field.label))}${optional}</span>${about}
${problems.map(problemHtml).join('')}
${hiddenHtml(value)}${inputHtml(field, attributes, value, { id: `${id}-list`, texts: suggested })}</label>`;
}

/** The field itself has to hold the exact value, in which nobody sees them. */
const hiddenHtml = (value: string): string =>
  hidesCharacters(value) ? `<span class="problem">This value has hidden characters: ${lineHtml(value)}</span>\n` : '';

type Suggested = { readonly id: string; readonly texts: readonly string[] };

/** Types such as `email` are not used: browsers change what is typed into them. */
function inputHtml(field: FormField, attributes: string, value: string, suggested: Suggested): string {
  switch (field.type) {
    case 'text':
      if (suggested.texts.length > 0) return suggestingHtml(attributes, value, suggested);
      // Browsers drop a line break at the beginning.
      if (field.multiline) return `<textarea ${attributes} rows="4" dir="auto">\n${escaped(value)}</textarea>`;
      return `<input type="text" ${attributes} value="${escaped(value)}" dir="auto" autocomplete="off">`;
    case 'number':
      return `<input type="number" ${attributes} step="${field.integer ? 1 : 'any'}" value="${escaped(value)}">`;
    case 'date':
      return `<input type="date" ${attributes} value="${escaped(value)}">`;
    case 'boolean':
      return selectHtml(attributes, value, YES_NO);
    case 'choice':
      return selectHtml(attributes, value, field.options);
  }
}

const YES_NO = [
  { id: 'true', label: 'Yes' },
  { id: 'false', label: 'No' },
];

function selectHtml(
  attributes: string,
  value: string,
  options: readonly { readonly id: string; readonly label: string }[],
): string {
  const all = [{ id: '', label: '…' }, ...options];
  const items = all.map(
    ({ id, label }) =>
      `<option value="${escaped(id)}"${id === value ? ' selected' : ''}>${escaped(visibleLine(label))}</option>`,
  );
  return `<select ${attributes}>${items.join('')}</select>`;
}

function suggestingHtml(attributes: string, value: string, { id, texts }: Suggested): string {
  const options = texts.map((text) => `<option value="${escaped(text)}"></option>`);
  return `<input type="text" ${attributes} list="${id}" value="${escaped(value)}" dir="auto" autocomplete="off">
<datalist id="${id}">${options.join('')}</datalist>`;
}
