// The input of a call in readable form: names and values, lists as lists, to any depth; or as it travels, in JSON.
import { ValueView, VisibleText } from '@countersign/react';
import { useState } from 'react';

/** Deeper than this, and in the middle of very long values, JSON is easier to read. */
const DEPTH_AT_MOST = 5;
const ENTRIES_AT_MOST = 200;

export function InputView({ value }: { readonly value: unknown }) {
  const [isRaw, setRaw] = useState(false);
  const hasNames = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  return (
    <div data-countersign="input" className="relative">
      {isRaw ? (
        <pre className="json pr-16">
          <VisibleText text={JSON.stringify(value, null, 2) ?? ''} />
        </pre>
      ) : (
        <div className={hasNames ? 'pr-12' : undefined}>
          <Value value={value} depth={0} />
        </div>
      )}
      {hasNames && (
        <button
          type="button"
          aria-pressed={isRaw}
          onClick={() => setRaw(!isRaw)}
          className="absolute top-2 right-2 rounded px-1.5 font-mono text-xs leading-5 text-muted hover:bg-sunken hover:text-ink aria-pressed:bg-sunken aria-pressed:text-ink"
        >
          JSON
        </button>
      )}
    </div>
  );
}

function Value({ value, depth }: { readonly value: unknown; readonly depth: number }) {
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
              <Value value={item} depth={depth + 1} />
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
            <VisibleText text={name} />
          </dt>
          <dd data-countersign="entry-value" className={isNested(entry) ? 'border-l-2 border-line pl-3' : undefined}>
            <Value value={entry} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const isNested = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;
