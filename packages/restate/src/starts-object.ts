// The lanes of starts: an append that starts a call passes the lane of its run, and so does every change of what is frozen.
import { hash } from 'node:crypto';
import * as restate from '@restatedev/restate-sdk';
import { FREEZES, type ReadOptions } from 'countersign/store';
import { SHORT } from './handler-options.ts';
import {
  json,
  judgedRequest,
  type KeptNote,
  lines,
  noteKey,
  noteName,
  readAppendRequest,
  runName,
  startsName,
} from './wire.ts';

/** How many starts can be recorded at the same time. A change of the freezes waits for all of them. */
const LANES = 16;

/** The version of the freezes that starts of this lane are judged by. */
const VERSION = 'version';

const FREEZES_KEY = noteKey(...FREEZES);

export const laneOf = (runId: string): string => `${Number.parseInt(hash('sha256', runId).slice(0, 8), 16) % LANES}`;

/**
 * Makes the object. Its handlers come one after the other, so a lane learns of a freeze when its starts before that are recorded, and
 * has no others under the old version.
 */
export function startsObject(name: string) {
  async function append(ctx: restate.ObjectContext, text: string): Promise<unknown> {
    const key = readAppendRequest(text).head.runId;
    const parameter = judgedRequest(text, await versionIn(ctx));
    const run = { service: runName(name), key, inputSerde: lines, outputSerde: json };
    return ctx.genericCall<string, unknown>({ ...run, method: 'append', parameter });
  }

  async function versionIn(ctx: restate.ObjectContext): Promise<number> {
    const known = await ctx.get<number>(VERSION);
    if (known !== null) return known;
    const note = { service: noteName(name), key: FREEZES_KEY, inputSerde: json, outputSerde: json };
    const kept = await ctx.genericCall<null, KeptNote | null>({ ...note, method: 'get', parameter: null });
    const version = kept?.version ?? 0;
    ctx.set(VERSION, version);
    return version;
  }

  async function judgeBy(ctx: restate.ObjectContext, version: number): Promise<true> {
    ctx.set(VERSION, version);
    return true;
  }

  async function readInLine(
    ctx: restate.ObjectContext,
    [key, parameter]: readonly [string, ReadOptions],
  ): Promise<string> {
    const run = { service: runName(name), key, inputSerde: json, outputSerde: lines };
    return ctx.genericCall<ReadOptions, string>({ ...run, method: 'readInLine', parameter });
  }

  const { exclusive } = restate.handlers.object;
  return restate.object({
    name: startsName(name),
    handlers: {
      append: exclusive({ ...SHORT, input: lines }, append),
      judgeBy: exclusive({ ...SHORT, ingressPrivate: true }, judgeBy),
      readInLine: exclusive({ ...SHORT, output: lines }, readInLine),
    },
  });
}

/** Before the note of what is frozen changes: from then on, no start is recorded that was judged by its version before. */
export async function tellLanes(ctx: restate.ObjectContext, name: string, version: number): Promise<void> {
  if (ctx.key !== FREEZES_KEY) return;
  const lane = { service: startsName(name), method: 'judgeBy', inputSerde: json, outputSerde: json };
  const told = Array.from({ length: LANES }, (_, key) =>
    ctx.genericCall<number, true>({ ...lane, key: `${key}`, parameter: version }),
  );
  await restate.RestatePromise.all(told);
}
