// The frame of every screen of the inbox: a head, a body that scrolls, and the keys at the foot.
import type { Format } from '../print/output.ts';
import { clip, filled, widthOf, wrap } from '../print/text-width.ts';
import type { Frame, Size } from './terminal.ts';

type Style = (format: Format, text: string) => string;

/** A row of the body; `paint` colours it after it was cut to fit. */
export type Row = { readonly text: string; readonly format?: Format };

/** What is said for a moment above the keys. */
export type Notice = { readonly tone: 'good' | 'bad' | 'plain'; readonly text: string };

export type Parts = {
  readonly title: string;
  /** At the right of the head. */
  readonly aside: string;
  readonly body: readonly Row[];
  /** The first row of the body that is shown. */
  readonly top: number;
  /** Between the body and the keys: a question, a line that is written. */
  readonly panel?: readonly Row[];
  readonly notice?: Notice | undefined;
  readonly keys: readonly string[];
  /** In the panel. */
  readonly cursor?: { readonly row: number; readonly column: number } | undefined;
};

const TONES = { good: 'green', bad: 'red', plain: 'cyan' } as const;

export function frame({ rows, columns }: Size, style: Style, parts: Parts): Frame {
  const keys = keyRows(parts.keys, columns);
  const notice = parts.notice ? wrap(parts.notice.text, columns - 1).slice(0, 4) : [];
  const panel = parts.panel ?? [];
  const room = bodyRoom({ rows, columns }, parts);
  const shown = parts.body.slice(parts.top, parts.top + room);
  const below = parts.body.length - parts.top - shown.length;
  const aside = clip(parts.aside, Math.max(0, Math.floor(columns / 2)));
  const head = `${filled(` ${parts.title}`, columns - widthOf(aside) - 2)} ${aside} `;
  const more = [
    ...(parts.top > 0 ? [`▲ ${parts.top} above`] : []),
    ...(below > 0 ? [`▼ ${below} more below`] : []),
  ].join('   ');
  const painted = (row: Row | undefined) => {
    const text = clip(row?.text ?? '', columns);
    return row?.format === undefined || text === '' ? text : style(row.format, text);
  };
  const lines = [
    style('inverse', head),
    ...Array.from({ length: room }, (_, index) => painted(shown[index])),
    style('dim', more === '' ? '─'.repeat(columns) : filled(`── ${more} `, columns)),
    ...panel.map(painted),
    ...notice.map((text) => style(TONES[parts.notice?.tone ?? 'plain'], clip(` ${text}`, columns))),
    ...keys.map((text) => style('dim', clip(` ${text}`, columns))),
  ];
  const panelAt = 1 + room + 1;
  return {
    lines,
    ...(parts.cursor && {
      cursor: { row: panelAt + parts.cursor.row, column: Math.min(columns - 1, parts.cursor.column) },
    }),
  };
}

/** On two rows at most. Where there is no room for all, the last two stay: how to get help, and how to get out. */
function keyRows(keys: readonly string[], columns: number): readonly string[] {
  const rows: string[] = [];
  for (const key of keys) {
    const joined = rows.length === 0 ? key : `${rows.at(-1)} · ${key}`;
    if (rows.length > 0 && widthOf(joined) < columns) rows[rows.length - 1] = joined;
    else rows.push(key);
  }
  if (rows.length <= 2 || keys.length <= 2) return rows.slice(0, 2);
  return keyRows([...keys.slice(0, -3), ...keys.slice(-2)], columns);
}

/** How many rows of the body fit. */
export function bodyRoom({ rows, columns }: Size, parts: Pick<Parts, 'keys' | 'notice' | 'panel'>): number {
  const keys = keyRows(parts.keys, columns).length;
  const notice = parts.notice ? wrap(parts.notice.text, columns - 1).slice(0, 4).length : 0;
  return Math.max(1, rows - 2 - keys - notice - (parts.panel?.length ?? 0));
}

/** The first row to show so that this one is seen. */
export function scrolledTo(row: number, top: number, room: number): number {
  if (row < top) return row;
  return row >= top + room ? row - room + 1 : top;
}

/** Where a key scrolls to, if it is one that does; what is drawn keeps it within bounds. */
export function scrolledBy(text: string, name: string | undefined, top: number, room: number): number | undefined {
  if (name === 'down' || text === 'j') return top + 1;
  if (name === 'up' || text === 'k') return top - 1;
  if (name === 'pagedown' || text === ' ') return top + room;
  if (name === 'pageup') return top - room;
  if (name === 'home') return 0;
  return name === 'end' || text === 'G' ? Number.MAX_SAFE_INTEGER : undefined;
}

/** How far somebody has read: who jumps over rows has not seen them. */
export const readTo = (seen: number, top: number, room: number): number =>
  top <= seen ? Math.max(seen, top + room) : seen;
