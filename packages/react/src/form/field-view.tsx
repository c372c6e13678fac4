// A field of any kind, and those that hold others: objects, lists, unions.
import { useEffect, useRef } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { ABSENT, type Draft, emptyDraft, newKey } from './draft.ts';
import type { Field } from './field.ts';
import { Description, type Placed, Problems, useDescribed } from './form-context.tsx';
import { ChoiceField, JsonField, TextField } from './scalar-fields.tsx';

/** Shows the field as its draft is: a value that does not fit its schema is shown as JSON text. */
export function FieldView(placed: Placed) {
  const { field, draft } = placed;
  if (draft.is === 'json') return <JsonField {...placed} />;
  switch (field.is) {
    case 'text':
    case 'number':
      return <TextField {...placed} field={field} />;
    case 'boolean':
    case 'choice':
      return <ChoiceField {...placed} field={field} />;
    case 'object':
      return draft.is === 'object' ? <ObjectField {...placed} field={field} draft={draft} /> : <AddField {...placed} />;
    case 'array':
      return draft.is === 'array' ? <ArrayField {...placed} field={field} draft={draft} /> : <AddField {...placed} />;
    case 'union':
      return draft.is === 'union' ? <UnionField {...placed} field={field} draft={draft} /> : <AddField {...placed} />;
    case 'json':
      return placed.required ? <JsonField {...placed} /> : <AddField {...placed} />;
  }
}

/** An optional part that is not there. It is made when it is wanted, so that a schema may contain itself. */
function AddField(placed: Placed) {
  const { field, onChange, label } = placed;
  const named = useNamed();
  const words = useWords();
  return (
    <div {...named('field')} data-field="absent">
      <button {...named('add')} {...useDescribed(placed)} type="button" onClick={() => onChange(emptyDraft(field))}>
        <VisibleText text={words.add(label)} />
      </button>
      <Problems {...placed} />
    </div>
  );
}

function Group({ children, kind, ...placed }: Placed & { readonly kind: string; readonly children: React.ReactNode }) {
  const { path, label, required, onChange } = placed;
  const named = useNamed();
  const words = useWords();
  const { 'aria-invalid': _invalid, ...described } = useDescribed(placed);
  return (
    <fieldset {...named('field')} data-field={kind} {...described}>
      <legend {...named('label')}>
        <VisibleText text={label} />
      </legend>
      <Description {...placed} />
      {children}
      <Problems {...placed} />
      {!required && path.length > 0 && (
        <button {...named('leave-out')} type="button" onClick={() => onChange(ABSENT)}>
          <VisibleText text={words.remove(label)} />
        </button>
      )}
    </fieldset>
  );
}

type Of<Kind extends Field['is'] & Draft['is']> = Placed<Field & { is: Kind }> & {
  readonly draft: Draft & { is: Kind };
};

function ObjectField({ field, draft, ...placed }: Of<'object'>) {
  const { onChange, path, id } = placed;
  const named = useNamed();
  const words = useWords();
  const other = field.others?.();
  return (
    <Group {...placed} field={field} draft={draft} kind="object">
      {field.properties.map(({ name, required, field: inner }, index) => {
        const property = inner();
        return (
          <FieldView
            key={name}
            field={property}
            draft={draft.properties[index] ?? ABSENT}
            onChange={(changed) =>
              onChange({
                ...draft,
                properties: field.properties.map((_, at) =>
                  at === index ? changed : (draft.properties[at] ?? ABSENT),
                ),
              })
            }
            path={[...path, name]}
            id={`${id}.${encodeURIComponent(name)}`}
            label={property.title ?? name}
            required={required}
          />
        );
      })}
      {other &&
        draft.others.map((entry, index) => {
          const change = (changed: Partial<typeof entry>) =>
            onChange({ ...draft, others: draft.others.with(index, { ...entry, ...changed }) });
          return (
            <div key={entry.key} {...named('other-entry')}>
              <label {...named('label')}>
                {words.entryName}{' '}
                <input
                  {...named('control')}
                  type="text"
                  value={entry.name}
                  onChange={({ target }) => change({ name: target.value })}
                />
              </label>
              <FieldView
                field={other}
                draft={entry.draft}
                onChange={(draft) => change({ draft })}
                path={[...path, entry.name]}
                id={`${id}.${entry.key}`}
                label={entry.name === '' ? words.entry : entry.name}
                required
              />
              <button
                {...named('remove')}
                type="button"
                onClick={() => onChange({ ...draft, others: draft.others.toSpliced(index, 1) })}
              >
                <VisibleText text={words.remove(entry.name === '' ? words.entry : entry.name)} />
              </button>
            </div>
          );
        })}
      {other && field.offersOthers && (
        <button
          {...named('add')}
          type="button"
          onClick={() =>
            onChange({ ...draft, others: [...draft.others, { key: newKey(), name: '', draft: emptyDraft(other) }] })
          }
        >
          {words.add(words.entry)}
        </button>
      )}
    </Group>
  );
}

function ArrayField({ field, draft, ...placed }: Of<'array'>) {
  const { onChange, path, id, label } = placed;
  const named = useNamed();
  const words = useWords();
  const item = field.item();
  const list = useRef<HTMLOListElement>(null);
  const add = useRef<HTMLButtonElement>(null);
  const added = useRef(false);

  // Who adds an entry wants to fill it in.
  useEffect(() => {
    if (!added.current) return;
    added.current = false;
    list.current?.lastElementChild?.querySelector<HTMLElement>('input, select, textarea, button')?.focus();
  });

  return (
    <Group {...placed} field={field} draft={draft} kind="array">
      <ol {...named('items')} ref={list}>
        {draft.items.map(({ key, draft: entry }, index) => (
          <li key={key} {...named('item')}>
            <FieldView
              field={item}
              draft={entry}
              onChange={(changed) => onChange({ ...draft, items: draft.items.with(index, { key, draft: changed }) })}
              path={[...path, `${index}`]}
              id={`${id}.${key}`}
              label={`${item.title ?? label} ${index + 1}`}
              required
            />
            <button
              {...named('remove')}
              type="button"
              onClick={() => {
                onChange({ ...draft, items: draft.items.toSpliced(index, 1) });
                // The button that had the focus goes with its entry.
                add.current?.focus();
              }}
            >
              <VisibleText text={words.remove(`${item.title ?? label} ${index + 1}`)} />
            </button>
          </li>
        ))}
      </ol>
      <button
        {...named('add')}
        ref={add}
        type="button"
        onClick={() => {
          added.current = true;
          onChange({ ...draft, items: [...draft.items, { key: newKey(), draft: emptyDraft(item) }] });
        }}
      >
        <VisibleText text={words.add(item.title ?? label)} />
      </button>
    </Group>
  );
}

function UnionField({ field, draft, ...placed }: Of<'union'>) {
  const { onChange, path, id, label } = placed;
  const named = useNamed();
  const words = useWords();
  const branch = field.branches[draft.branch];
  const inner = branch?.field();

  function choose(index: number) {
    const chosen = field.branches[index];
    if (chosen) onChange({ is: 'union', branch: index, draft: emptyDraft(chosen.field()) });
  }
  // A union shows its problems at the chosen branch.
  return (
    <div {...named('field')} data-field="union">
      <label {...named('label')} htmlFor={`${id}-kind`}>
        <VisibleText text={label} />: {words.kindOfValue}
      </label>
      <Description field={field} id={id} />
      <select
        {...named('control')}
        id={`${id}-kind`}
        value={draft.branch}
        onChange={({ target }) => choose(Number(target.value))}
      >
        {field.branches.map(({ label }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the branches of a schema do not move.
          <option key={index} value={index}>
            {label === 'null' ? words.nothing : label}
          </option>
        ))}
      </select>
      {inner && !isFixed(inner) && (
        <FieldView
          field={inner}
          draft={draft.draft}
          onChange={(changed) => onChange({ ...draft, draft: changed })}
          path={path}
          id={`${id}-value`}
          label={inner.title ?? label}
          required
        />
      )}
      {!placed.required && (
        <button {...named('leave-out')} type="button" onClick={() => onChange(ABSENT)}>
          {words.leaveOut} <VisibleText text={label} />
        </button>
      )}
    </div>
  );
}

/** There is only one value to choose, so there is nothing to ask. */
const isFixed = (field: Field): boolean => field.is === 'choice' && field.options.length === 1;
