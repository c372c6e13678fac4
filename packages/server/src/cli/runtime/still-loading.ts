// A file that waits for something that never comes would leave whoever started it without a word.

import type { Output } from '../print/output.ts';
import { shownPath } from './agents-file.ts';

const SLOW_MS = 5_000;

/** Waits for what is loaded of the file, and says once if that takes long. It keeps no process from ending. */
export function sayingIfSlow(file: string | undefined, { note }: Output): <T>(loading: Promise<T>) => Promise<T> {
  let isSaid = false;
  const say = (): void => {
    if (!isSaid && file !== undefined)
      note(`${shownPath(file)} is still being loaded: it waits for something. Ctrl-C ends it.`);
    isSaid = true;
  };
  return async (loading) => {
    const timer = setTimeout(say, SLOW_MS).unref();
    return loading.finally(() => clearTimeout(timer));
  };
}
