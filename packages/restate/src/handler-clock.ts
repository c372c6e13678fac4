// The clock of the handlers. Its answers are in the journal, so that a second attempt gets the same.
import type { Context } from '@restatedev/restate-sdk';

export type HandlerClock = (ctx: Context) => Promise<number>;

export function handlerClock(now: (() => number) | undefined): HandlerClock {
  return now === undefined ? (ctx) => ctx.date.now() : (ctx) => ctx.run('now', () => Math.floor(now()));
}
