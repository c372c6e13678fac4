// What this person works on: a hold is taken when they set about to decide, kept while the card is open, and given back.
import type { Hold } from '../../schemas/interrupt.ts';
import type { Desk, DeskCard } from '../desk/desk.ts';
import { failureOf } from '../failure.ts';
import { timeText } from '../print/moment.ts';
import { visibleLine } from '../print/visible-text.ts';
import type { Notice } from './frame.ts';

/** A hold lapses after five minutes unless it is renewed. */
const RENEWED_EVERY_MS = 2 * 60_000;
/** Whoever quits does not wait longer; what was not given back lapses by itself. */
const PATIENCE_MS = 2_000;

export type Holding = ReturnType<typeof createHolding>;

/** `changed` hears of every hold that this person took or gave back, `refused` that somebody else has one. */
export function createHolding(
  desk: Pick<Desk, 'hold' | 'release' | 'person'>,
  changed: (interruptId: string, hold: Hold | null) => void,
  refused: () => void,
) {
  const held = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  // One after the other, so that what is given back is not taken again by a request that is still on its way.
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  const take = (interruptId: string) =>
    inTurn(async () => {
      const hold = await desk.hold(interruptId);
      held.add(interruptId);
      changed(interruptId, hold);
    });
  const release = async (interruptId: string) => {
    held.delete(interruptId);
    await desk.release(interruptId);
    changed(interruptId, null);
  };
  /** A courtesy: who cannot be told, or has it already, keeps nobody from deciding. */
  const takeUnasked = (interruptId: string) => {
    take(interruptId).catch((error: unknown) => {
      if (failureOf(error).code === 'claimed') refused();
    });
  };

  return {
    /** Takes the card, or gives it back if this person has it; resolves with what to tell them. */
    async toggle(card: DeskCard): Promise<Notice> {
      try {
        if (holdOn(card, Date.now())?.by === desk.person) {
          await inTurn(() => release(card.id));
          return { tone: 'plain', text: 'Given back: others see that you do not work on it.' };
        }
        await take(card.id);
        return { tone: 'good', text: 'It is yours: others see for some minutes that you work on it.' };
      } catch (error) {
        const { code, message } = failureOf(error);
        if (code === 'claimed') refused();
        return { tone: 'bad', text: visibleLine(message) };
      }
    },

    /** One look at a card, until it is left. */
    visit({ id }: DeskCard) {
      let isUnasked = false;
      const timer = setInterval(() => held.has(id) && takeUnasked(id), RENEWED_EVERY_MS);
      return {
        /** The person set about to decide. Whoever only looks holds nothing, and what was theirs before stays theirs. */
        begin(card: DeskCard): void {
          if (holdOn(card, Date.now())) return;
          isUnasked = true;
          takeUnasked(id);
        },
        /** The person took it, or gave it back, themselves. */
        asked: () => {
          isUnasked = false;
        },
        leave(isDecided: boolean): void {
          clearInterval(timer);
          if (isDecided) held.delete(id);
          // What cannot be given back lapses by itself.
          else if (isUnasked) inTurn(async () => (held.has(id) ? release(id) : undefined)).catch(() => undefined);
        },
      };
    },

    async releaseAll(): Promise<void> {
      const all = inTurn(async () => {
        await Promise.allSettled([...held].map(release));
      });
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, PATIENCE_MS);
      });
      await Promise.race([all, patience]);
      clearTimeout(timer);
    },
  };
}

/** Who works on a card at this moment. */
export const holdOn = ({ hold, status }: DeskCard, now: number): Hold | null =>
  hold !== null && hold.until > now && status === 'pending' ? hold : null;

/** As in `ann works on it until 10:05:00`, if it is somebody else. */
export function othersHold(card: DeskCard, person: string | undefined, now: number): string | undefined {
  const hold = holdOn(card, now);
  if (hold === null || hold.by === person) return undefined;
  return `${visibleLine(hold.by)} works on it until ${timeText(hold.until).slice(-8)}`;
}
