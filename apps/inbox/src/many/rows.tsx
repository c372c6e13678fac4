// The selected requests of one tool: a table of what differs, or one block for each where a table does not fit.
import { titleOf, ValueView, VisibleText } from '@countersign/react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiRequest } from '../api/wire.ts';
import type { ToolSection } from './comparison.ts';

type RowsProps = {
  readonly section: ToolSection;
  readonly hrefOf: (id: string) => string;
  /** What became of it. */
  readonly noteOf: (request: ApiRequest) => ReactNode;
  /** Takes it out of the selection; undefined for one that is decided. */
  readonly onRemove: (request: ApiRequest) => (() => void) | undefined;
  readonly hasNotes: boolean;
  readonly isLocked: boolean;
};

export function RowTable({ section: { items, comparison }, hrefOf, noteOf, onRemove, hasNotes, isLocked }: RowsProps) {
  const { columns, rows } = comparison;
  const hasTitles = new Set(items.map(titleOf)).size > 1;
  return (
    <div className="panel overflow-x-auto">
      <table className="w-full border-collapse text-left">
        <thead className="border-b border-line text-xs text-muted">
          <tr>
            <th scope="col" className="w-0 py-2 pl-3">
              <span className="sr-only">Selected</span>
            </th>
            <th scope="col" className="px-3 py-2 font-medium">
              Request
            </th>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="px-3 py-2 font-medium">
                <VisibleText text={name} isName />
              </th>
            ))}
            {hasNotes && (
              <th scope="col" className="px-3 py-2 font-medium">
                Outcome
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {items.map((request, index) => (
            <tr key={request.id} className="border-b border-line align-top last:border-0 hover:bg-sunken">
              <td className="py-2 pl-3">
                <Box request={request} onRemove={onRemove} isLocked={isLocked} />
              </td>
              <th scope="row" className="max-w-80 px-3 py-2 font-normal wrap-break-word">
                <Title request={request} href={hrefOf(request.id)} isShort={!hasTitles} />
              </th>
              {columns.map(({ name }, column) => (
                <td key={name} className="max-w-80 min-w-16 px-3 py-2 tabular-nums **:wrap-break-word">
                  <Value value={rows[index]?.[column]} />
                </td>
              ))}
              {hasNotes && <td className="min-w-44 px-3 py-2">{noteOf(request)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function RowList({ section: { items, comparison }, hrefOf, noteOf, onRemove, isLocked }: RowsProps) {
  const { columns, rows } = comparison;
  return (
    <ul className="panel divide-y divide-line">
      {items.map((request, index) => (
        <li key={request.id} className="row flex gap-3 p-3">
          <Box request={request} onRemove={onRemove} isLocked={isLocked} />
          <div className="flex min-w-0 flex-1 flex-col gap-1">
            <Title request={request} href={hrefOf(request.id)} />
            <dl className="grid grid-cols-[minmax(4rem,auto)_1fr] gap-x-3 gap-y-0.5">
              {columns.map(({ name }, column) => (
                <div key={name} className="contents">
                  <dt className="text-muted wrap-anywhere">
                    <VisibleText text={name} isName />
                  </dt>
                  <dd className="min-w-0 wrap-anywhere tabular-nums">
                    <Value value={rows[index]?.[column]} />
                  </dd>
                </div>
              ))}
            </dl>
            {noteOf(request)}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Value({ value }: { readonly value: unknown }) {
  return value === undefined ? <span className="text-muted">–</span> : <ValueView value={value} />;
}

type TitleProps = { readonly request: ApiRequest; readonly href: string; readonly isShort?: boolean };

/** Short where all have the same title: it leads to the card. */
function Title({ request, href, isShort = false }: TitleProps) {
  return (
    <Link href={href} className="underline decoration-line underline-offset-2 hover:decoration-ink">
      {isShort ? 'View' : <VisibleText text={titleOf(request)} />}
    </Link>
  );
}

type BoxProps = Pick<RowsProps, 'onRemove' | 'isLocked'> & { readonly request: ApiRequest };

function Box({ request, onRemove, isLocked }: BoxProps) {
  const remove = onRemove(request);
  if (!remove) return null;
  return (
    <input
      type="checkbox"
      checked
      disabled={isLocked}
      className="mt-0.5 size-4 accent-accent max-md:size-5"
      aria-label={`Keep ${titleOf(request)} selected`}
      onChange={remove}
    />
  );
}
