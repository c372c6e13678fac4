// Fields for one value: text, numbers, dates, yes or no, one of several, JSON text.
import type { ChangeEvent } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText } from '../text/long-text.tsx';
import { hasHidden } from '../text/visible.ts';
import { VisibleText } from '../text/visible-text.tsx';
import { textProblem } from './check.ts';
import { ABSENT, type Draft } from './draft.ts';
import type { Field } from './field.ts';
import { Description, type Placed, Problems, useDescribed, Was } from './form-context.tsx';

type Typed = Field & { is: 'text' | 'number' };

/** Text as typed. Left empty, an optional one is left out, unless an empty text is what its schema allows. */
export function TextField(placed: Placed<Typed>) {
  const { field, draft, onChange, id, label, required } = placed;
  const named = useNamed();
  const words = useWords();
  const described = useDescribed(placed);
  const text = draft.is === 'text' ? draft.text : '';

  function change(text: string) {
    const fits = field.is === 'text' && textProblem(text, field, words) === undefined;
    onChange(text === '' && !required && !fits ? ABSENT : { is: 'text', text });
  }
  const common = {
    ...named('control'),
    ...described,
    id,
    'aria-required': required,
  };
  return (
    <div {...named('field')} data-field={field.is === 'text' ? field.format : field.is}>
      <Label {...placed} />
      <Description {...placed} />
      {field.is === 'text' && (field.multiline || /[\r\n]/.test(text)) ? (
        <textarea {...common} value={text} onChange={(event) => change(withLineEndsOf(text, event.target.value))} />
      ) : (
        <input {...common} {...controlFor(field, text)} onChange={(event) => change(saidBy(field, event))} />
      )}
      {field.is === 'text' && field.format === 'date-time' && (
        <p {...named('time-zone')}>{words.yourTimeZone(Intl.DateTimeFormat().resolvedOptions().timeZone)}</p>
      )}
      {hasHidden(text) && (
        <p {...named('holds-hidden')}>
          {words.holdsHidden} <LongText text={text} />
        </p>
      )}
      <Was {...placed} />
      <Problems {...placed} />
      {!required && draft.is !== 'absent' && (
        <button {...named('leave-out')} type="button" onClick={() => onChange(ABSENT)}>
          {words.leaveOut} <VisibleText text={label} />
        </button>
      )}
    </div>
  );
}

/** A browser's control ends every line in LF. A text whose lines all end in CRLF keeps that. */
function withLineEndsOf(before: string, after: string): string {
  const isAllCrlf = before.includes('\r\n') && !/[\r\n]/.test(before.replaceAll('\r\n', ''));
  return isAllCrlf ? after.replaceAll('\n', '\r\n') : after;
}

/** For the thirtieth of February a control would show nothing, or another day. */
const isDay = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`);
  return /^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};
const isTime = (text: string): boolean => /^(?:[01]\d|2[0-3])(?::[0-5]\d){1,2}$/.test(text);

/** A browser's own control shows nothing for a value that it does not know; then the text itself is shown. */
function controlFor(field: Typed, text: string) {
  if (field.is === 'number')
    return { type: 'text', inputMode: field.integer ? 'numeric' : 'decimal', value: text } as const;
  switch (field.format) {
    case 'date':
      return { type: text === '' || isDay(text) ? 'date' : 'text', value: text };
    case 'time':
      return { type: text === '' || isTime(text) ? 'time' : 'text', value: text };
    case 'date-time': {
      const local = localTime(text);
      return local === undefined ? { type: 'text', value: text } : { type: 'datetime-local', step: 1, value: local };
    }
    case 'email':
      // A control for email addresses would rewrite international ones as `xn--…`.
      return { type: 'text', inputMode: 'email', value: text } as const;
    case 'uri':
      return { type: 'url', value: text };
    case 'plain':
      return { type: 'text', value: text };
  }
}

/** What the control says, as the schema wants it: a moment has its offset from UTC. */
function saidBy(field: Typed, { target }: ChangeEvent<HTMLInputElement>): string {
  if (field.is !== 'text' || field.format !== 'date-time' || target.type !== 'datetime-local') return target.value;
  const at = new Date(target.value);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

/** Undefined for what the control would not give back: no moment, or one of the hour that comes twice in autumn. */
function localTime(text: string): string | undefined {
  if (text === '') return '';
  const at = new Date(text);
  if (!isDay(text.slice(0, 10)) || Number.isNaN(at.getTime())) return undefined;
  const local = new Date(Math.round(at.getTime() - at.getTimezoneOffset() * 60_000)).toISOString().slice(0, 19);
  return new Date(local).getTime() === Math.floor(at.getTime() / 1_000) * 1_000 ? local : undefined;
}

/** Any JSON, as text. */
export function JsonField(placed: Placed) {
  const { draft, onChange, id, required } = placed;
  const named = useNamed();
  const words = useWords();
  const described = useDescribed(placed);
  const text = draft.is === 'json' ? draft.text : '';
  return (
    <div {...named('field')} data-field="json">
      <Label {...placed} suffix={words.jsonText} />
      <Description {...placed} />
      <textarea
        {...named('control')}
        {...described}
        id={id}
        aria-required={required}
        spellCheck={false}
        value={text}
        onChange={({ target }) =>
          onChange(target.value === '' && !required ? ABSENT : { is: 'json', text: target.value })
        }
      />
      {hasHidden(text) && (
        <p {...named('holds-hidden')}>
          {words.holdsHidden} <LongText text={text} />
        </p>
      )}
      <Was {...placed} />
      <Problems {...placed} />
    </div>
  );
}

const RADIOS_AT_MOST = 7;

/** One of several values, or yes or no: buttons to choose from, or a list if there are many. Nothing is chosen ahead. */
export function ChoiceField(placed: Placed<Field & { is: 'choice' | 'boolean' }>) {
  const { field, draft, onChange, id, label, required } = placed;
  const named = useNamed();
  const words = useWords();
  const described = useDescribed(placed);
  const options: readonly { readonly label: string; readonly draft: Draft }[] =
    field.is === 'boolean'
      ? [
          { label: words.yes, draft: { is: 'boolean', value: true } },
          { label: words.no, draft: { is: 'boolean', value: false } },
        ]
      : field.options.map(({ value, label }, index) => ({
          label: value === null ? words.nothing : label,
          draft: { is: 'choice', index },
        }));
  const all = required ? options : [...options, { label: words.leaveOut, draft: ABSENT }];
  const chosen = all.findIndex((option) => sameChoice(option.draft, draft));

  if (options.length > RADIOS_AT_MOST)
    return (
      <div {...named('field')} data-field="choice">
        <Label {...placed} />
        <Description {...placed} />
        <select
          {...named('control')}
          {...described}
          id={id}
          aria-required={required}
          value={chosen}
          onChange={({ target }) => onChange(all[Number(target.value)]?.draft ?? ABSENT)}
        >
          {chosen < 0 && <option value={-1}>{words.choose}</option>}
          {all.map((option, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two choices may be the same.
            <option key={index} value={index}>
              {option.label}
            </option>
          ))}
        </select>
        <Was {...placed} />
        <Problems {...placed} />
      </div>
    );
  return (
    <div
      {...named('field')}
      data-field={field.is}
      role="radiogroup"
      aria-labelledby={`${id}-label`}
      aria-required={required}
      {...described}
    >
      <span {...named('label')} id={`${id}-label`}>
        <VisibleText text={label} />
      </span>
      <Description {...placed} />
      {all.map((option, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two choices may be the same.
        <label key={index} {...named('option')}>
          <input
            {...named('radio')}
            type="radio"
            name={id}
            checked={chosen === index}
            onChange={() => onChange(option.draft)}
          />{' '}
          <VisibleText text={option.label} />
        </label>
      ))}
      <Was {...placed} />
      <Problems {...placed} />
    </div>
  );
}

function sameChoice(a: Draft, b: Draft): boolean {
  if (a.is === 'choice' && b.is === 'choice') return a.index === b.index;
  if (a.is === 'boolean' && b.is === 'boolean') return a.value === b.value;
  return a.is === 'absent' && b.is === 'absent';
}

function Label({
  id,
  label,
  required,
  suffix,
}: Pick<Placed, 'id' | 'label' | 'required'> & { readonly suffix?: string }) {
  const named = useNamed();
  const words = useWords();
  return (
    <label {...named('label')} htmlFor={id}>
      <VisibleText text={label} />
      {suffix !== undefined && ` (${suffix})`}
      {!required && ` ${words.optional}`}
    </label>
  );
}
