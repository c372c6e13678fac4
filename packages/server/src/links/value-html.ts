// Values of a request as HTML: whole, with hidden characters made visible, and so that no text passes for another type.

import type { Json, JsonSchema } from 'countersign';
import { type Line, lineOf } from 'countersign/request';
import { escaped } from '../pages/html.ts';
import type { Format } from '../text/format.ts';
import { isPlainText, jsonText, labelText, valueText } from '../text/value-text.ts';
import { visibleLine } from '../text/visible-text.ts';

/** Untrusted text on one line, whatever the direction of its script. */
export const lineHtml = (text: string): string => `<bdi>${escaped(visibleLine(text))}</bdi>`;

/** A time with its zone. A script writes it in the zone of the browser. */
export const timeHtml = (at: number, format: Format): string =>
  `<time datetime="${new Date(at).toISOString()}">${escaped(format.time(at))}</time>`;

/** Stands around a time in a text. Texts of others have no such character: it is shown as a code. */
const MARK = '\u0000';

/** Marks a time in a text, which `html` writes as one. */
export const withTimes = Object.assign((at: number): string => `${MARK}${at}${MARK}`, {
  html: (text: string, format: Format): string => {
    const parts = text.split(MARK);
    return parts.map((part, index) => (index % 2 === 1 ? timeHtml(Number(part), format) : escaped(part))).join('');
  },
});

/** Labels and values of an object, one below the other; anything else as one value. */
export function valueHtml(value: unknown, format: Format, schema?: JsonSchema | null): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return innerHtml(value, format);
  const lines = lineOf(value as Json, schema).inside();
  if (lines.length === 0) return innerHtml(value, format);
  const rows = lines.map(
    (line) => `<div><dt><bdi>${escaped(labelText(line))}</bdi></dt><dd>${lineValueHtml(line, format)}</dd></div>`,
  );
  const isRead = lines.some((line) => format.reads(line) !== undefined);
  return `<dl class="value">${rows.join('')}</dl>${isRead ? exactHtml(value) : ''}`;
}

function lineValueHtml(line: Line, format: Format): string {
  const text = format.reads(line);
  return text === undefined ? innerHtml(line.value, format) : `<p class="text">${escaped(text)}</p>`;
}

/** What runs is the value itself. */
const exactHtml = (value: unknown): string =>
  `<details class="exact"><summary>Exact input</summary><pre>${escaped(jsonText(value))}</pre></details>`;

function innerHtml(value: unknown, format: Format): string {
  if (typeof value === 'number') return numberHtml(value, format);
  const text = escaped(valueText(value));
  return typeof value === 'string' && isPlainText(value)
    ? `<p class="text" dir="auto">${text}</p>`
    : `<pre>${text}</pre>`;
}

/** The number that runs comes first; as the person writes it is only an aid. */
function numberHtml(value: number, format: Format): string {
  const read = format.number(value);
  const aid = read === String(value) ? '' : ` <span class="aid">(${escaped(read)})</span>`;
  return `<p><code>${value}</code>${aid}</p>`;
}
