// What was decided, by whom and when, in words.
import type { Json } from 'countersign';
import { timeText } from './moment.ts';
import { valueLine } from './value-text.ts';
import { visibleLine } from './visible-text.ts';

type Recorded = {
  readonly decision: Json;
  readonly by: string | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly at: number | null;
};

/** As in `approved with edited input: amount 90`. */
export function decisionText(decision: Json): string {
  const said = (typeof decision === 'object' && decision !== null && !Array.isArray(decision) ? decision : {}) as {
    readonly [key: string]: Json | undefined;
  };
  const because = typeof said.reason === 'string' && said.reason !== '' ? `: ${visibleLine(said.reason)}` : '';
  switch (said.type) {
    case 'approve':
      return said.edit === undefined ? 'approved' : `approved with edited input: ${valueLine(said.edit)}`;
    case 'reject':
      return `rejected${because}`;
    case 'cancel':
      return `cancelled${because}`;
    case 'respond':
      return `answered: ${valueLine(said.output)}`;
    case 'restart':
      return said.replaceInput === undefined ? 'restarted' : `restarted with: ${valueLine(said.replaceInput)}`;
    default:
      return 'withdrawn';
  }
}

/** For whoever leaves while a decision is on its way. */
export const onItsWayText = ({ tool, runId }: { readonly tool: string; readonly runId: string }): string =>
  `${visibleLine(tool)}: the decision is on its way. Whether it was recorded shows: countersign show ${runId}`;

/** As in `ann approved it through the inbox at 2026-11-15 07:00:01`. */
export function recordedText({ decision, by, channel, note, at }: Recorded): string {
  const through = channel === null ? '' : ` (${visibleLine(channel)})`;
  const when = at === null ? '' : ` at ${timeText(at)}`;
  const beside = note === null || note === '' ? '' : `, note: ${visibleLine(note)}`;
  return `${by === null ? 'somebody' : visibleLine(by)}${through}${when}: ${decisionText(decision)}${beside}`;
}
