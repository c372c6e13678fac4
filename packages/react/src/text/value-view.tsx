// A JSON value in readable form: names and values, lists as lists, to any depth; or as JSON.
import { useNamed, useWords } from '../appearance.tsx';
import { JsonText } from './json-text.tsx';
import { useLocalText } from './local-text.tsx';
import { LongText, Shared } from './long-text.tsx';
import { isCode, readingAid } from './reading-aid.ts';
import { VisibleText } from './visible-text.tsx';

export type ValueViewProps = {
  readonly value: unknown;
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
export function ValueView({ value, asJson = false, className }: ValueViewProps) {
  const named = useNamed();
  if (asJson)
    return (
      <pre {...named('json', className)} dir="ltr">
        <JsonText value={value} />
      </pre>
    );
  return <Readable value={value} depth={0} {...(className !== undefined && { className })} />;
}

type ReadableProps = { readonly value: unknown; readonly depth: number; readonly className?: string };

function Readable({ value, depth, className }: ReadableProps) {
  const named = useNamed();
  const words = useWords();
  const own = className === undefined ? {} : { className };
  if (isScalar(value)) return <ScalarView value={value} {...own} />;
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
        {value.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the entries of a recorded value do not move.
          <li key={index} {...named('list-item')}>
            <Shared among={shared}>
              <Readable value={item} depth={depth + 1} />
            </Shared>
          </li>
        ))}
      </ol>
    );
  return (
    <dl {...named('values', className)}>
      {entries.map(([name, entry]) => (
        <div key={name} {...named('entry')}>
          <dt {...named('entry-name')}>
            <VisibleText text={name} isName />
          </dt>
          <dd {...named('entry-value')} data-nested={!isScalar(entry)}>
            <Shared among={shared}>
              {isScalar(entry) ? (
                <ScalarView value={entry} name={name} beside={value as Record<string, unknown>} />
              ) : (
                <Readable value={entry} depth={depth + 1} />
              )}
            </Shared>
          </dd>
        </div>
      ))}
    </dl>
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
  const aid = useLocalText(() => readingAid(name, value, beside) ?? '');
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

function looksLikeJson(text: string): boolean {
  if (text.trim() !== text) return true;
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
