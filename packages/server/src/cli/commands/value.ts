// Values on the command line: JSON, plain text where the answer is a string, @file, or - for standard input.
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { JsonSchema } from 'countersign';
import { faultInJson } from 'countersign/store';
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

/** Parses JSON in which no key is repeated: which of the two values was meant is unknown. */
export function parseJson(option: string, value: string): unknown {
  const hint = `Example: ${option} '{"amount": 90}', ${option} @file.json, or ${option} - for standard input`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch (error) {
    throw usageFailure(`${option} is not valid JSON: ${(error as Error).message}.`, hint);
  }
  const fault = faultInJson(value, LIMITS);
  if (fault) throw usageFailure(`${option} is refused: ${fault.problem}.`, hint);
  return parsed;
}

/** More than any server takes: only repeated keys count here. */
const LIMITS = { depth: 1_000, values: 1_000_000 };

/** Parses an answer: a string schema takes plain text, any other schema takes JSON. A quoted string works for both. */
export function parseAnswer(option: string, value: string, schema: JsonSchema | null): unknown {
  const type = schema?.type;
  const takesText = type === undefined || [type].flat().includes('string');
  try {
    const parsed: unknown = JSON.parse(value);
    if (type === 'string') return typeof parsed === 'string' ? parsed : value;
  } catch {
    if (takesText) return value;
  }
  return parseJson(option, value);
}
