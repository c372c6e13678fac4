// A JSON value in readable form: names and values, lists as lists, to any depth.
import { ValueView, VisibleText } from '@countersign/react';

/** Deeper than this, and where there is very much, JSON is easier to read. */
const DEPTH_AT_MOST = 5;
const ENTRIES_AT_MOST = 200;
const NAME_AT_MOST = 1_000;

/** Several texts that are together as long as this would take a browser long; JSON is shown part by part. */
const LENGTH_AT_MOST = 100_000;
/** How many top-level entries are shown separately. */
const FEW = 10;

type ReadableValueProps = { readonly value: unknown; readonly depth?: number };

export function ReadableValue({ value, depth = 0 }: ReadableValueProps) {
  if (typeof value !== 'object' || value === null || depth > DEPTH_AT_MOST) return <ValueView value={value} />;
  const entries = Object.entries(value);
  const isFew = depth === 0 && entries.length <= FEW && entries.every(([name]) => name.length <= NAME_AT_MOST);
  if (entries.length === 0 || !(isFew || isSmall(value)))
    return <ValueView value={value} asJson={entries.length > 0} />;
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
