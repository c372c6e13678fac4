// A JSON value in readable form: a list of names and values if it is flat, JSON text if it is deep.
import { useNamed, useWords } from '../appearance.tsx';
import { JsonText } from './json-text.tsx';
import { LongText, Shared } from './long-text.tsx';
import { VisibleText } from './visible-text.tsx';

export type ValueViewProps = {
  readonly value: unknown;
  /** As it travels, in JSON, even if it is flat. */
  readonly asJson?: boolean;
  readonly className?: string;
};

const LISTED_AT_MOST = 50;
/** Longer names are shown part by part with the rest. */
const NAME_AT_MOST = 1_000;

/** Shows the whole value, very long ones part by part: a person never decides on a truncated value. */
export function ValueView({ value, asJson = false, className }: ValueViewProps) {
  const named = useNamed();
  const words = useWords();
  if (isScalar(value) && !asJson) return <ScalarView value={value} {...(className !== undefined && { className })} />;
  if (!isFlat(value) || asJson)
    return (
      <pre {...named('json', className)} dir="ltr">
        <JsonText value={value} />
      </pre>
    );
  const entries = Object.entries(value);
  if (entries.length === 0) return <span {...named('empty', className)}>{words.emptyObject}</span>;
  return (
    <dl {...named('values', className)}>
      {entries.map(([name, entry]) => (
        <div key={name} {...named('entry')}>
          <dt {...named('entry-name')}>
            <VisibleText text={name} isName />
          </dt>
          <dd {...named('entry-value')}>
            <Shared among={entries.length}>
              <ScalarView value={entry} />
            </Shared>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A text that could be taken for a number or the like stands in quotes. */
function ScalarView({ value, className }: { readonly value: unknown; readonly className?: string }) {
  const named = useNamed();
  const words = useWords();
  if (value === '') return <span {...named('empty', className)}>{words.emptyText}</span>;
  const ambiguous = typeof value === 'string' && looksLikeJson(value);
  const text = typeof value === 'string' && !ambiguous ? value : (JSON.stringify(value) ?? '');
  return (
    <span {...named('value', className)} data-type={value === null ? 'null' : typeof value}>
      <LongText text={text} />
    </span>
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

function isFlat(value: unknown): value is { readonly [key: string]: unknown } {
  if (isScalar(value) || Array.isArray(value)) return false;
  const entries = Object.entries(value as object);
  return (
    entries.length <= LISTED_AT_MOST && entries.every(([name, entry]) => name.length <= NAME_AT_MOST && isScalar(entry))
  );
}
