// What a row of a list says below its headline: what the asker says, and for a call without a title its input in short.
import { titleOf } from '@countersign/react';
import type { Card } from '../api/wire.ts';

const LONG_ENOUGH = 240;

type Summarised = Pick<Card, 'tool' | 'kind' | 'input' | 'payload'> & Partial<Pick<Card, 'title' | 'status'>>;

/** Leaves out what the headline already says. A decided request with a title needs only its outcome. */
export function summaryOf(card: Summarised): string {
  const { input, payload, title, status } = card;
  const hasTitle = typeof title === 'string';
  if (hasTitle && status === 'decided') return '';
  const headline = titleOf(card);
  const asked = recordOf(input).question ?? recordOf(payload).question;
  const said = [typeof payload === 'string' ? payload : recordOf(payload).message, asked].filter(
    (text) => typeof text === 'string' && text !== '' && text !== headline,
  );
  // A question has its own text, and a title says what matters in the input.
  const needsInput = asked === undefined && !hasTitle;
  const text = [...said, ...(needsInput ? [inShort(input)] : [])].filter((part) => part !== '').join(' · ');
  return text.length > LONG_ENOUGH ? `${text.slice(0, LONG_ENOUGH)}…` : text;
}

function inShort(input: unknown): string {
  if (typeof input === 'string') return input;
  const entries = Object.entries(recordOf(input)).filter(([, value]) => value !== null && value !== '');
  if (entries.length === 0) return Array.isArray(input) ? JSON.stringify(input) : '';
  return entries.map(([name, value]) => `${name}: ${textOf(value)}`).join(' · ');
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ');
  return JSON.stringify(value);
}

function recordOf(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
