// A row of the list: the risk, the tool, the age, and what it is about.
import type { DeskCard } from '../desk.ts';
import { filled } from '../text-width.ts';
import { visibleLine } from '../visible-text.ts';
import { cardAge, cardSummary } from './card-rows.ts';
import type { Row } from './frame.ts';

const RISKS = { high: 'HIGH', medium: 'med', low: 'low' } as const;

/** A card as a row of the list. */
export function listRow(card: DeskCard, isHere: boolean, columns: number, toolWidth: number, now: number): Row {
  const mark = isHere ? '›' : ' ';
  const risk = card.risk === null ? '' : RISKS[card.risk];
  const tool = filled(visibleLine(card.tool), Math.min(toolWidth, Math.max(8, columns - 12)));
  const age = filled(cardAge(card, now), 7);
  const cells = columns < 60 ? [mark, tool, cardSummary(card)] : [mark, filled(risk, 4), tool, age, cardSummary(card)];
  const text = ` ${cells.join('  ').replace(/^(.) {2}/, '$1 ')}`;
  return {
    text,
    ...(isHere ? { format: ['bold', 'cyan'] as const } : card.risk === 'high' ? { format: 'yellow' as const } : {}),
  } as Row;
}
