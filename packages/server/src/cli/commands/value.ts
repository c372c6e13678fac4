// Values on the command line: JSON, plain text where the answer is a string, @file, or - for standard input.
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { JsonSchema } from 'countersign';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';

/** Reads `@file` and `-`; returns any other value unchanged. */
export async function readValue(option: string, value: string): Promise<string> {
  if (value === '-') return text(process.stdin);
  if (!value.startsWith('@')) return value;
  const path = value.slice(1);
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isMissing = code === 'ENOENT';
    const message = isMissing ? `File “${path}” not found.` : `Cannot read “${path}” (${code}).`;
    throw new CommandFailure(isMissing ? EXIT.notFound : EXIT.failure, 'no-file', message, {
      hint: `To pass text that begins with @, use standard input: ${option} -`,
      cause,
    });
  }
}

export function parseJson(option: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch (error) {
    throw usageFailure(
      `${option} is not valid JSON: ${(error as Error).message}.`,
      `Example: ${option} '{"amount": 90}', ${option} @file.json, or ${option} - for standard input`,
    );
  }
}

/** Parses an answer: a string schema takes plain text, any other schema takes JSON. A quoted string works for both. */
export function parseAnswer(option: string, value: string, schema: JsonSchema | null): unknown {
  const type = schema?.type;
  const takesText = type === undefined || [type].flat().includes('string');
  try {
    const parsed: unknown = JSON.parse(value);
    return type === 'string' && typeof parsed !== 'string' ? value : parsed;
  } catch {
    return takesText ? value : parseJson(option, value);
  }
}
