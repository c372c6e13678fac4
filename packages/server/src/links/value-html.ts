// Values of a request as HTML: whole, with hidden characters made visible, and so that no text passes for another type.

import { escaped } from '../pages/html.ts';
import type { Format } from '../text/format.ts';
import { isPlainText, nameText, valueText } from '../text/value-text.ts';
import { visibleLine } from '../text/visible-text.ts';

/** Untrusted text on one line, whatever the direction of its script. */
export const lineHtml = (text: string): string => `<bdi>${escaped(visibleLine(text))}</bdi>`;

/** Names and values of an object, one below the other; anything else as one value. */
export function valueHtml(value: unknown, format: Format): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return innerHtml(value, format);
  const entries = Object.entries(value);
  if (entries.length === 0) return innerHtml(value, format);
  const rows = entries.map(
    ([name, inner]) => `<div><dt><bdi>${escaped(nameText(name))}</bdi></dt><dd>${innerHtml(inner, format)}</dd></div>`,
  );
  return `<dl class="value">${rows.join('')}</dl>`;
}

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
