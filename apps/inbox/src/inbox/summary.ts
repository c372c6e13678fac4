// One line that tells what a card is about: what the asker says, else its input in short.
import type { Card } from '../api/wire.ts';

const LONG_ENOUGH = 240;

export function summaryOf({ input, payload }: Pick<Card, 'input' | 'payload'>): string {
  const said = [recordOf(payload).message, payload, recordOf(input).question, recordOf(payload).question].find(
    (text) => typeof text === 'string' && text !== '',
  );
  const text = typeof said === 'string' ? said : inShort(input);
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
