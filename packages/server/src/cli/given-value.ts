// Values that are given on the command line: JSON, text where text is asked for, a file, or the standard input.
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { JsonSchema } from 'countersign';
import { CommandFailure, EXIT, usageFailure } from './failure.ts';

/** What `@file` and `-` stand for; anything else stands for itself. */
export async function readGiven(option: string, given: string): Promise<string> {
  if (given === '-') return text(process.stdin);
  if (!given.startsWith('@')) return given;
  try {
    return readFileSync(given.slice(1), 'utf8');
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code !== 'ENOENT';
    const why = isThere ? `cannot be read (${(cause as NodeJS.ErrnoException).code})` : 'is not there';
    const message = `${option} names the file “${given.slice(1)}”, which ${why}.`;
    throw new CommandFailure(isThere ? EXIT.failure : EXIT.notFound, 'no-file', message, {
      hint: `A text that begins with @ is given through the input: ${option} -`,
      cause,
    });
  }
}

export function jsonFrom(option: string, given: string): unknown {
  try {
    return JSON.parse(given);
  } catch (error) {
    throw usageFailure(
      `${option} is no JSON: ${(error as Error).message}.`,
      `As in: ${option} '{"amount": 90}', ${option} @file.json, or ${option} - to read it from the input`,
    );
  }
}

/**
 * An answer: where a text is asked for, the words as they are; elsewhere JSON. Quoted text is a text in both cases.
 */
export function answerFrom(option: string, given: string, schema: JsonSchema | null): unknown {
  const wanted = schema?.type;
  const parsed = parse(given);
  if (wanted === 'string') return typeof parsed === 'string' ? parsed : given;
  if (parsed !== undefined) return parsed;
  const takesText = wanted === undefined || (Array.isArray(wanted) && wanted.includes('string'));
  return takesText ? given : jsonFrom(option, given);
}

function parse(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    // Not JSON; whoever asked knows whether it may be text.
    return undefined;
  }
}
