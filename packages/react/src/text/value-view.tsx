// A JSON value in readable form: labels and values, lists as lists, to any depth; or as JSON.
import { type Line, lineOf, type Reading, readingText } from 'countersign/request';
import { useMemo } from 'react';
import { useLocale, useNamed, useWords } from '../appearance.tsx';
import { JsonText } from './json-text.tsx';
import { useLocalText } from './local-text.tsx';
import { LongText, Shared } from './long-text.tsx';
import { isCode, readingAid } from './reading-aid.ts';
import { VisibleText } from './visible-text.tsx';

export type ValueViewProps = {
  readonly value: unknown;
  /** JSON Schema of the value, with labels, money and dates. */
  readonly schema?: { readonly [key: string]: unknown } | null;
  /** As it travels, in JSON, even if it is flat. */
  readonly asJson?: boolean;
  readonly className?: string;
};

/** Deeper than this, and where there is very much, JSON is easier to read. */
const DEPTH_AT_MOST = 5;
const ENTRIES_AT_MOST = 200;
/** Longer names are shown part by part with the rest. */
const NAME_AT_MOST = 1_000;
/** Several texts that are together as long as this would take a browser long; JSON is shown part by part. */
const LENGTH_AT_MOST = 100_000;
/** How many top-level entries are shown separately, however much is in them. */
const FEW = 10;

/** Shows the whole value, very long ones part by part: a person never decides on a truncated value. */
export function ValueView({ value, schema, asJson = false, className }: ValueViewProps) {
  const line = useMemo(() => lineOf(value as Line['value'], schema), [value, schema]);
  const named = useNamed();
  if (asJson)
    return (
      <pre {...named('json', className)} dir="ltr">
        <JsonText value={value} />
      </pre>
    );
  return <LineView line={line} {...(className !== undefined && { className })} />;
}

/** Shows the value of a line as people read it, and everything in it. */
export function LineView({ line, className }: { readonly line: Line; readonly className?: string }) {
  return <Readable line={line} depth={0} {...(className !== undefined && { className })} />;
}

type ReadableProps = {
  readonly line: Line;
  readonly depth: number;
  /** The object that the line is in. */
  readonly beside?: { readonly [name: string]: unknown };
  readonly className?: string;
};

function Readable({ line, depth, beside = {}, className }: ReadableProps) {
  const { value } = line;
  const named = useNamed();
  const words = useWords();
  const own = className === undefined ? {} : { className };
  if (isScalar(value)) return <Scalar line={line} beside={beside} {...own} />;
  const entries = Object.entries(value as object);
  if (entries.length === 0)
    return <span {...named('empty', className)}>{Array.isArray(value) ? words.emptyList : words.emptyObject}</span>;
  const hasFew = depth === 0 && entries.length <= FEW && entries.every(([name]) => name.length <= NAME_AT_MOST);
  const small = isSmall(value);
  if (depth > DEPTH_AT_MOST || !(hasFew || small)) return <ValueView value={value} asJson {...own} />;
  const shared = small ? 1 : entries.length;
  if (Array.isArray(value))
    return (
      <ol {...named('list', className)}>
        {line.inside().map((item) => (
          <li key={item.name} {...named('list-item')}>
            <Shared among={shared}>
              <Readable line={item} depth={depth + 1} />
            </Shared>
          </li>
        ))}
      </ol>
    );
  return (
    <dl {...named('values', className)}>
      {line.inside().map((entry) => (
        <div key={entry.name} {...named('entry')}>
          <EntryName line={entry} />
          <dd {...named('entry-value')} data-nested={!isScalar(entry.value)}>
            <Shared among={shared}>
              <Readable line={entry} depth={depth + 1} beside={value as Record<string, unknown>} />
            </Shared>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A label of the schema is plain words. The name of the field is in its tooltip. */
function EntryName({ line: { name, label } }: { readonly line: Line }) {
  const named = useNamed();
  if (label === name)
    return (
      <dt {...named('entry-name')}>
        <VisibleText text={name} isName />
      </dt>
    );
  return (
    <dt {...named('entry-name')} data-labelled="" title={name}>
      {label}
    </dt>
  );
}

type ScalarLineProps = Required<Pick<ReadableProps, 'line' | 'beside'>> & Pick<ReadableProps, 'className'>;

function Scalar({ line: { name, value, reading }, beside, ...own }: ScalarLineProps) {
  const text = useLocalText(() => (reading && readingText(reading)) ?? '');
  if (!reading || text === '') return <ScalarView value={value} name={name} beside={beside} {...own} />;
  return <ReadingView reading={reading} value={value} text={text} {...own} />;
}

type ReadingProps = {
  readonly reading: Reading;
  readonly value: unknown;
  readonly text: string;
  readonly className?: string;
};

/** Money or a date, in the language of the reader. The exact value is in its tooltip. */
function ReadingView({ reading, value, text, className }: ReadingProps) {
  const named = useNamed();
  const exact = reading.is === 'money' ? `${reading.amount} ${reading.currency}` : String(value);
  return (
    <span {...named('value', className)} data-reading={reading.is} title={exact}>
      {text}
    </span>
  );
}

type ScalarProps = {
  readonly value: unknown;
  readonly name?: string;
  readonly beside?: { readonly [name: string]: unknown };
  readonly className?: string;
};

/** A text that could be taken for a number or the like stands in quotes. */
function ScalarView({ value, name = '', beside = {}, className }: ScalarProps) {
  const named = useNamed();
  const words = useWords();
  if (value === '') return <span {...named('empty', className)}>{words.emptyText}</span>;
  const ambiguous = typeof value === 'string' && looksLikeJson(value);
  const text = typeof value === 'string' && !ambiguous ? value : (JSON.stringify(value) ?? '');
  return (
    <>
      <span
        {...named('value', className)}
        data-type={value === null ? 'null' : typeof value}
        {...(typeof value === 'string' && isCode(name, value) && { 'data-format': 'code' })}
      >
        {typeof value === 'number' ? <Digits text={text} /> : <LongText text={text} />}
      </span>
      <ReadingAid name={name} value={value} beside={beside} />
    </>
  );
}

function ReadingAid({ name, value, beside }: Required<Omit<ScalarProps, 'className'>>) {
  const named = useNamed();
  const locale = useLocale();
  const aid = useLocalText(() => readingAid(name, value, beside, locale) ?? '');
  if (aid === '') return null;
  return (
    <>
      {' '}
      <span {...named('reading-aid')}>{aid}</span>
    </>
  );
}

/** Groups the digits of a long number with space between them, not with characters: the text stays exact. */
function Digits({ text }: { readonly text: string }) {
  const named = useNamed();
  const [, whole = '', rest = ''] = /^(-?\d{5,})(\.\d+)?$/.exec(text) ?? [];
  if (whole === '') return <LongText text={text} />;
  const groups = whole.match(/-?\d{1,3}(?=(?:\d{3})*$)/g) ?? [whole];
  return (
    <>
      {groups.map((group, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the groups of a number do not move.
        <span key={index} {...named('digits')}>
          {group}
        </span>
      ))}
      {rest}
    </>
  );
}

/** Text of several lines, such as a file, ends with a line break. */
const ENDED_LINES = /(?<=\n[^\n]*\S)\n$/;

function looksLikeJson(text: string): boolean {
  if (text.trim() !== text.replace(ENDED_LINES, '')) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Ordinary text.
    return false;
  }
}

function isScalar(value: unknown): value is string | number | boolean | null | undefined {
  return typeof value !== 'object' || value === null;
}

/** Counts no further than it must. */
function isSmall(value: unknown): boolean {
  const open = [value];
  let [entries, length, longest] = [0, 0, 0];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') {
      length += next.length;
      longest = Math.max(longest, next.length);
    }
    if (typeof next !== 'object' || next === null) continue;
    for (const name in next) {
      entries += 1;
      if (entries > ENTRIES_AT_MOST || name.length > NAME_AT_MOST) return false;
      open.push(next[name as keyof typeof next]);
    }
  }
  // One long text among short ones is a text to be read.
  return length - longest <= LENGTH_AT_MOST;
}
