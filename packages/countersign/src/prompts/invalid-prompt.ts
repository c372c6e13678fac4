// The error of a prompt that cannot be read or rendered, with the place where it is broken.
import { UsageError } from '../core/errors.ts';

/** Where something stands. Lines and columns count from 1. */
export type Place = {
  readonly prompt: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
};

export function invalidPrompt(place: Place, problem: string, cause?: unknown): UsageError {
  const message = `${placeText(place)}: ${problem}`;
  return new UsageError('invalid-prompt', { ...place }, message, cause === undefined ? {} : { cause });
}

function placeText({ prompt, file, line, column }: Place): string {
  if (file === undefined) return line === undefined ? `Prompt ${prompt}` : `Prompt ${prompt}, line ${line}`;
  return [file, line, column].filter((value) => value !== undefined).join(':');
}
