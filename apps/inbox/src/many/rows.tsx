// The selected requests of one tool: a table of what differs, or one block for each where a table does not fit.
import { titleOf, ValueView, VisibleText } from '@countersign/react';
import { ArrowDown, ArrowUp, ArrowUpDown } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiRequest } from '../api/wire.ts';
import { ChoiceMenu } from '../primitives/choice-menu.tsx';
import type { ToolSection } from './comparison.ts';
import { isNumeric, type Order } from './sorted-rows.ts';

type RowsProps = {
  readonly section: ToolSection;
  readonly hrefOf: (id: string) => string;
  /** What became of it. */
  readonly noteOf: (request: ApiRequest) => ReactNode;
  /** Takes it out of the selection; undefined for one that is decided. */
  readonly onRemove: (request: ApiRequest) => (() => void) | undefined;
  readonly hasNotes: boolean;
  readonly isLocked: boolean;
  readonly order: Order | undefined;
  readonly onOrder: (order: Order | undefined) => void;
};

export function RowTable(props: RowsProps) {
  const { section, hrefOf, noteOf, onRemove, hasNotes, isLocked, order, onOrder } = props;
  const { items, comparison } = section;
  const { columns, rows } = comparison;
  const hasTitles = new Set(items.map(titleOf)).size > 1;
  const alignOf = (column: number): string => (isNumeric(section, column) ? 'text-right' : '');
  return (
    <div className="panel overflow-x-auto">
      <table className="w-full border-collapse text-left">
        <thead className="border-b border-line text-xs text-muted">
          <tr>
            <th scope="col" className="w-0 py-2 pl-3">
              <span className="sr-only">Selected</span>
            </th>
            <SortedHead column="title" order={order} onOrder={onOrder} className="">
              Request
            </SortedHead>
            {columns.map(({ name }, column) => (
              <SortedHead key={name} column={column} order={order} onOrder={onOrder} className={alignOf(column)}>
                <VisibleText text={name} isName />
              </SortedHead>
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
                <td
                  key={name}
                  className={`max-w-80 min-w-16 px-3 py-2 tabular-nums **:wrap-break-word ${alignOf(column)}`}
                >
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

type SortedHeadProps = Pick<RowsProps, 'order' | 'onOrder'> & {
  readonly column: Order['column'];
  readonly className: string;
  readonly children: ReactNode;
};

/** Sorts by its column: upwards, then downwards, then as they were selected. */
function SortedHead({ column, order, onOrder, className, children }: SortedHeadProps) {
  const own = order?.column === column ? order : undefined;
  const Icon = own ? (own.isDescending ? ArrowDown : ArrowUp) : ArrowUpDown;
  const next = own?.isDescending ? undefined : { column, isDescending: own !== undefined };
  return (
    <th
      scope="col"
      aria-sort={own ? (own.isDescending ? 'descending' : 'ascending') : 'none'}
      className={`px-3 py-2 font-medium ${className}`}
    >
      <button
        type="button"
        className="group inline-flex items-center gap-1 hover:text-ink"
        onClick={() => onOrder(next)}
      >
        {children}
        <Icon
          aria-hidden="true"
          className={`size-3 shrink-0 ${own ? '' : 'opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100'}`}
        />
      </button>
    </th>
  );
}

/** The same where there are no columns. */
function SortMenu({ section: { comparison }, order, onOrder }: Pick<RowsProps, 'section' | 'order' | 'onOrder'>) {
  const choices = [
    { value: '', label: 'As selected' },
    { value: 'title', label: 'Request' },
    ...comparison.columns.flatMap(({ name }, column) => [
      { value: `${column} up`, label: `${name}, lowest first` },
      { value: `${column} down`, label: `${name}, highest first` },
    ]),
  ];
  const value = order
    ? order.column === 'title'
      ? 'title'
      : `${order.column} ${order.isDescending ? 'down' : 'up'}`
    : '';
  function change(chosen: string) {
    const [column = '', direction] = chosen.split(' ');
    if (chosen === '') onOrder(undefined);
    else if (column === 'title') onOrder({ column, isDescending: false });
    else onOrder({ column: Number(column), isDescending: direction === 'down' });
  }
  return (
    <ChoiceMenu label="Sort" value={value} choices={choices} onChange={change} className="button self-start">
      <ArrowUpDown aria-hidden="true" className="size-4" />
      Sort
    </ChoiceMenu>
  );
}

export function RowList(props: RowsProps) {
  const { section, hrefOf, noteOf, onRemove, isLocked, order, onOrder } = props;
  const { items, comparison } = section;
  const { columns, rows } = comparison;
  return (
    <>
      {items.length > 1 && <SortMenu section={section} order={order} onOrder={onOrder} />}
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
    </>
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
