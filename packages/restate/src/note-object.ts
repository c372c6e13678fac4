// The virtual object of a note. Its versions are times, so that nothing has to be kept of a note that is gone.
import * as restate from '@restatedev/restate-sdk';
import type { HandlerClock } from './handler-clock.ts';
import { SHORT } from './handler-options.ts';
import { tellLanes } from './starts-object.ts';
import { json, type KeptNote, listsName, type NoteChange, noteName, type PutRequest } from './wire.ts';

const KEPT = 'note';
/** The version of the note that was removed last. */
const LAST = 'last';
/** When the object looks whether its note is gone. */
const SWEEP_AT = 'sweepAt';
/** By then, a new version is above any that was used before. */
const SWEEP_AFTER_MS = 60_000;

export function noteObject(name: string, clock: HandlerClock) {
  const project = (ctx: restate.ObjectContext, version: number, note: KeptNote | null): void => {
    const [collection = '', key = ''] = ctx.key.split('/').map(decodeURIComponent);
    const parameter: NoteChange = { collection, key, version, note };
    ctx.genericSend({
      ...{ service: listsName(name), method: 'note', key: `note/${ctx.key}`, parameter },
      inputSerde: json,
    });
  };

  const find = (kept: KeptNote | null, now: number): KeptNote | null =>
    kept !== null && (kept.expiresAt === null || kept.expiresAt > now) ? kept : null;

  /** Nothing else removes what is left of a note that expired or was removed. */
  async function sweepLater(ctx: restate.ObjectContext, now: number, at: number): Promise<void> {
    if ((await ctx.get<number>(SWEEP_AT)) !== null) return;
    ctx.set(SWEEP_AT, at + SWEEP_AFTER_MS);
    ctx.genericSend({
      ...{ service: noteName(name), method: 'sweep', key: ctx.key, parameter: null },
      ...{ inputSerde: json, delay: Math.max(0, at + SWEEP_AFTER_MS - now) },
    });
  }

  async function put(ctx: restate.ObjectContext, { version, notAfter, ...note }: PutRequest): Promise<boolean | null> {
    const asking = { kept: ctx.get<KeptNote>(KEPT), last: ctx.get<number>(LAST) };
    const now = await clock(ctx);
    const [kept, last] = [await asking.kept, await asking.last];
    if (now > notAfter) return null;
    if (version !== null && version !== (find(kept, now)?.version ?? 0)) return false;
    const written: KeptNote = { ...note, version: Math.max(now, (kept?.version ?? 0) + 1, (last ?? 0) + 1) };
    await tellLanes(ctx, name, written.version);
    ctx.set(KEPT, written);
    if (note.expiresAt !== null) await sweepLater(ctx, now, note.expiresAt);
    project(ctx, written.version, written);
    return true;
  }

  async function remove(ctx: restate.ObjectContext): Promise<boolean> {
    const asking = ctx.get<KeptNote>(KEPT);
    const now = await clock(ctx);
    const kept = await asking;
    if (kept === null || find(kept, now) === null) return false;
    await tellLanes(ctx, name, 0);
    ctx.clear(KEPT);
    ctx.set(LAST, kept.version);
    await sweepLater(ctx, now, now);
    project(ctx, kept.version, null);
    return true;
  }

  async function get(ctx: restate.ObjectSharedContext): Promise<KeptNote | null> {
    const asking = ctx.get<KeptNote>(KEPT);
    const now = await clock(ctx);
    return find(await asking, now);
  }

  /** Sends the note to the lists again. */
  async function copy(ctx: restate.ObjectContext): Promise<void> {
    const kept = await ctx.get<KeptNote>(KEPT);
    if (kept !== null) project(ctx, kept.version, kept);
  }

  async function sweep(ctx: restate.ObjectContext): Promise<void> {
    const asking = ctx.get<KeptNote>(KEPT);
    const now = await clock(ctx);
    const kept = await asking;
    if (find(kept, now - SWEEP_AFTER_MS) === null) {
      ctx.clearAll();
      if (kept !== null) project(ctx, kept.version, null);
      return;
    }
    ctx.clear(SWEEP_AT);
    if (kept?.expiresAt != null) await sweepLater(ctx, now, kept.expiresAt);
  }

  const { exclusive, shared } = restate.handlers.object;
  return restate.object({
    name: noteName(name),
    handlers: {
      put: exclusive(SHORT, put),
      remove: exclusive(SHORT, remove),
      get: shared(SHORT, get),
      copy: exclusive(SHORT, copy),
      sweep: exclusive({ ...SHORT, ingressPrivate: true }, sweep),
    },
  });
}
