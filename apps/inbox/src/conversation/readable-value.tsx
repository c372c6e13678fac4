// A JSON value in readable form: names and values, lists as lists, to any depth.
import { ValueView, VisibleText } from '@countersign/react';

/** Deeper than this, and where there is very much, JSON is easier to read. */
const DEPTH_AT_MOST = 5;
const ENTRIES_AT_MOST = 200;

type ReadableValueProps = { readonly value: unknown; readonly depth?: number };

export function ReadableValue({ value, depth = 0 }: ReadableValueProps) {
  if (typeof value !== 'object' || value === null || depth > DEPTH_AT_MOST) return <ValueView value={value} />;
  const entries = Object.entries(value);
  if (entries.length === 0 || entries.length > ENTRIES_AT_MOST) return <ValueView value={value} />;
  if (Array.isArray(value))
    return (
      <ol className="flex flex-col gap-1.5">
        {value.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the entries of a recorded input do not move.
          <li key={index} className="flex gap-2">
            <span aria-hidden="true" className="shrink-0 font-mono text-xs leading-5 text-muted">
              {index + 1}.
            </span>
            <div className="min-w-0 flex-1">
              <ReadableValue value={item} depth={depth + 1} />
            </div>
          </li>
        ))}
      </ol>
    );
  return (
    <dl data-countersign="values">
      {entries.map(([name, entry]) => (
        <div key={name} data-countersign="entry">
          <dt data-countersign="entry-name">
            <VisibleText text={name} isName />
          </dt>
          <dd data-countersign="entry-value" className={isNested(entry) ? 'border-l-2 border-line pl-3' : undefined}>
            <ReadableValue value={entry} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const isNested = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;
