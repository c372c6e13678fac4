// A row of the list: the risk, the tool, the age, and what it is about.
import type { DeskCard } from '../desk/desk.ts';
import { filled } from '../print/text-width.ts';
import { visibleLine } from '../print/visible-text.ts';
import { cardAge, cardSummary } from './card-rows.ts';
import type { Row } from './frame.ts';
import { holdOn } from './holding.ts';

const RISKS = { high: 'HIGH', medium: 'med', low: 'low' } as const;

/** A card as a row of the list. */
export function listRow(
  card: DeskCard,
  isHere: boolean,
  columns: number,
  toolWidth: number,
  now: number,
  person: string | undefined,
): Row {
  const mark = isHere ? '›' : ' ';
  const risk = card.risk === null ? '' : RISKS[card.risk];
  const tool = filled(visibleLine(card.tool), Math.min(toolWidth, Math.max(8, columns - 12)));
  const age = filled(cardAge(card, now), 7);
  const hold = holdOn(card, now);
  const holder = hold === null ? '' : `[${hold.by === person ? 'you' : visibleLine(hold.by)}] `;
  const about = `${holder}${cardSummary(card)}`;
  const cells = columns < 60 ? [mark, tool, about] : [mark, filled(risk, 4), tool, age, about];
  const text = ` ${cells.join('  ').replace(/^(.) {2}/, '$1 ')}`;
  return {
    text,
    ...(isHere ? { format: ['bold', 'cyan'] as const } : card.risk === 'high' ? { format: 'yellow' as const } : {}),
  } as Row;
}
