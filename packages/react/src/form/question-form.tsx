// A form made from the JSON Schema of an answer. Choices are buttons, everything else is a field.
import type { Problem } from 'countersign/ui';
import { type FormEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { type Draft, draftOf, emptyDraft, needed, readDraft } from './draft.ts';
import { type Field, fieldOf, optionsOf } from './field.ts';
import { FieldView } from './field-view.tsx';
import { FormContext, pathKey } from './form-context.tsx';

export type QuestionFormProps = {
  /** JSON Schema of the answer; null asks for any text. */
  readonly schema: { readonly [key: string]: unknown } | null;
  /** Gets the answer as JSON. `0`, `''`, `false` and `null` are answers. */
  readonly onSubmit: (answer: any) => void;
  /** The question; it names a form with a single field. */
  readonly label?: string;
  /** Answers to choose from, each a button. */
  readonly choices?: readonly unknown[] | undefined;
  /** Whether another answer than the choices may be written in. */
  readonly allowOther?: boolean;
  /** What to begin with, such as the input to edit. */
  readonly initial?: unknown;
  /** What the server found wrong, shown at the field that its path leads to. */
  readonly problems?: readonly Problem[];
  /** While an answer is on its way nothing can be changed or sent. */
  readonly disabled?: boolean;
  readonly submitLabel?: string;
  /** Rendered above the buttons with the current answer; undefined while it is not a valid answer. */
  readonly preview?: (answer: unknown) => ReactNode;
  /** Called with the current answer whenever it changes; undefined while it is not a valid answer. */
  readonly onDraft?: (answer: unknown) => void;
  readonly onCancel?: () => void;
  /** Keeps what was typed while the form is closed. */
  readonly kept?: { current: unknown };
  readonly className?: string;
};

/** Asks for an answer that fits a schema. The server checks it again. */
export function QuestionForm(props: QuestionFormProps) {
  const { schema, choices, allowOther = false } = props;
  const field = useMemo(() => fieldOf(schema), [schema]);
  const words = useWords();
  if (choices && choices.length > 0)
    return (
      <>
        <ChoiceButtons {...props} {...(allowOther && { problems: [] })} options={optionsOf(choices)} />
        {allowOther && <FieldsForm {...props} field={field} label={words.otherAnswer} submitLabel={words.sendOther} />}
      </>
    );
  if ('initial' in props) return <FieldsForm {...props} field={field} />;
  if (field.is === 'choice') return <ChoiceButtons {...props} options={field.options} />;
  if (field.is === 'boolean')
    return (
      <ChoiceButtons
        {...props}
        options={[
          { value: true, label: words.yes },
          { value: false, label: words.no },
        ]}
      />
    );
  return <FieldsForm {...props} field={field} />;
}

type Options = readonly { readonly value: unknown; readonly label: string }[];

function ChoiceButtons({
  options,
  label,
  problems = [],
  disabled = false,
  onSubmit,
  className,
}: QuestionFormProps & { readonly options: Options }) {
  const named = useNamed();
  const words = useWords();
  return (
    <fieldset {...named('choices', className)} aria-label={label ?? words.question}>
      {problems.length > 0 && <Summary problems={problems} onChoose={undefined} />}
      {options.map((option, index) => (
        <button
          // biome-ignore lint/suspicious/noArrayIndexKey: two choices may be the same.
          key={index}
          {...named('choice')}
          type="button"
          aria-disabled={disabled}
          onClick={() => !disabled && onSubmit(option.value)}
        >
          <VisibleText text={option.value === null ? words.nothing : option.label} />
        </button>
      ))}
    </fieldset>
  );
}

function FieldsForm({ field, ...props }: QuestionFormProps & { readonly field: Field }) {
  const {
    onSubmit,
    label,
    problems = [],
    disabled = false,
    submitLabel,
    preview,
    onDraft,
    onCancel,
    kept,
    className,
  } = props;
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const [begun] = useState(() => kept?.current as Draft | undefined);
  const [draft, setDraft] = useState<Draft>(
    () => begun ?? ('initial' in props ? draftOf(field, props.initial) : emptyDraft(field)),
  );
  const { open, note, forget } = useOpenProblems(problems);

  const read = needed(readDraft(field, draft, words), words, []);
  useChangedDraft(draft, begun !== undefined, () => onDraft?.(read.is === 'value' ? read.value : undefined));

  function submit(event: FormEvent) {
    event.preventDefault();
    if (disabled) return;
    if (read.is === 'value') {
      note([]);
      onSubmit(read.value);
    } else if (read.is === 'wrong') {
      note(read.problems);
      focusField(form.current, read.problems[0]?.path ?? []);
    }
  }
  function change(next: Draft) {
    if (disabled) return;
    forget(field, draft, next);
    setDraft(next);
    if (kept) kept.current = next;
  }

  return (
    <FormContext.Provider
      value={{
        id,
        problemsAt: (path) => open.filter((problem) => pathKey(problem.path) === pathKey(path)),
        initial: 'initial' in props ? { value: props.initial } : undefined,
      }}
    >
      <form {...named('form', className)} ref={form} noValidate onSubmit={submit}>
        {open.length > 0 && <Summary problems={open} onChoose={(path) => focusField(form.current, path)} />}
        <FieldView
          field={field}
          draft={draft}
          onChange={change}
          path={[]}
          id={id}
          label={label ?? field.title ?? words.answer}
          required
        />
        {preview?.(read.is === 'value' ? read.value : undefined)}
        <div {...named('form-buttons')}>
          <button {...named('submit')} type="submit" aria-disabled={disabled}>
            {submitLabel ?? words.submit}
          </button>
          {onCancel && (
            <button {...named('back')} type="button" onClick={onCancel}>
              {words.back}
            </button>
          )}
        </div>
      </form>
    </FormContext.Provider>
  );
}

/** Tells of a draft that a person changed, now or earlier, not of the one that the form began with. */
function useChangedDraft(draft: Draft, isChanged: boolean, tell: () => void): void {
  const told = useRef(isChanged ? undefined : draft);
  useEffect(() => {
    if (told.current === draft) return;
    told.current = draft;
    tell();
  });
}

/** The problems that still stand: a field that was changed since is no longer wrong, until it is checked again. */
function useOpenProblems(server: readonly Problem[]) {
  const [own, setOwn] = useState<readonly Problem[]>([]);
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  const key = JSON.stringify(server);
  const [seen, setSeen] = useState(key);
  if (seen !== key) {
    setSeen(key);
    setChanged(new Set());
    setOwn([]);
  }
  return {
    open: [...own, ...server].filter(({ path }) => !changed.has(pathKey(path))),
    note(problems: readonly Problem[]) {
      setOwn(problems);
      setChanged(new Set(problems.length > 0 ? server.map(({ path }) => pathKey(path)) : []));
    },
    forget(field: Field, before: Draft, after: Draft) {
      const touched = changedPaths(field, before, after).map(pathKey);
      setChanged((changed) => new Set([...changed, ...touched]));
    },
  };
}

/** The places that differ between two drafts, and those around them. */
function changedPaths(
  field: Field,
  before: Draft,
  after: Draft,
  path: readonly string[] = [],
): readonly (readonly string[])[] {
  if (before === after) return [];
  const here = [path];
  if (field.is === 'object' && before.is === 'object' && after.is === 'object')
    return here.concat(
      field.properties.flatMap(({ name, field }, index) => {
        const [old, fresh] = [before.properties[index], after.properties[index]];
        return old && fresh ? changedPaths(field(), old, fresh, [...path, name]) : [];
      }),
      after.others.filter((entry) => !before.others.includes(entry)).map(({ name }) => [...path, name]),
    );
  if (field.is === 'array' && before.is === 'array' && after.is === 'array')
    return here.concat(
      after.items.flatMap(({ draft }, index) => {
        const old = before.items[index]?.draft;
        return old ? changedPaths(field.item(), old, draft, [...path, `${index}`]) : [];
      }),
    );
  if (field.is === 'union' && before.is === 'union' && after.is === 'union' && before.branch === after.branch) {
    const branch = field.branches[after.branch];
    return branch ? changedPaths(branch.field(), before.draft, after.draft, path) : here;
  }
  return here;
}

type SummaryProps = {
  readonly problems: readonly Problem[];
  readonly onChoose: ((path: readonly string[]) => void) | undefined;
};

/** Lists all problems in one place and announces them. */
function Summary({ problems, onChoose }: SummaryProps) {
  const named = useNamed();
  const words = useWords();
  return (
    <div {...named('problems')} role="alert">
      <p>{words.problems}</p>
      <ul>
        {problems.map((problem) => {
          const text = [problem.path.join('.'), problem.message].filter((part) => part !== '').join(': ');
          return (
            <li key={`${pathKey(problem.path)} ${problem.message}`}>
              {onChoose && problem.path.length > 0 ? (
                <button {...named('go-to-problem')} type="button" onClick={() => onChoose(problem.path)}>
                  <VisibleText text={text} />
                </button>
              ) : (
                <VisibleText text={text} />
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Focuses the control at a path, or the nearest around it. */
function focusField(form: HTMLFormElement | null, path: readonly string[]): void {
  const places = new Map(
    [...(form?.querySelectorAll<HTMLElement>('[data-path]') ?? [])].map((element) => [element.dataset.path, element]),
  );
  for (let length = path.length; length >= 0; length -= 1) {
    const place = places.get(pathKey(path.slice(0, length)));
    if (!place) continue;
    const control = place.matches('fieldset')
      ? place.querySelector<HTMLElement>('input, select, textarea, button')
      : place;
    control?.focus();
    return;
  }
}
