// How the lists of interrupts are written for SQLite.
import { INTERRUPT_COLUMNS, RUN_COLUMNS } from '../sql/rows.ts';
import { ifJson } from './search.ts';

/**
 * Whoever changed a row may have left a number that JavaScript has not, at which Node fails the whole statement. Read as
 * REAL it is a number like others, and the row is refused by itself.
 */
export const inReach = (column: string): string => `CAST(${column} AS REAL)`;

/** The columns for statements that find several. */
export const runFields = (run: string): string => fields(run, RUN_COLUMNS);
export const interruptFields = (interrupt: string): string => fields(interrupt, INTERRUPT_COLUMNS);

function fields(table: string, columns: readonly string[]): string {
  const field = (column: string): string =>
    column === 'version' || column.endsWith('_at') ? inReach(`${table}.${column}`) : `${table}.${column}`;
  return columns.map((column) => `${field(column)} AS ${column}`).join(', ');
}

export const SQLITE_DIALECT = {
  columns: interruptFields('i'),
  interrupts: 'countersign_interrupt',
  labels: 'countersign_label',
  value: () => '?',
  waiting: (isWaiting: boolean) => (isWaiting ? '1' : '0'),
  ofRun: (runId: string) => `i.run_id = ${runId}`,
  hasLabel: (label: string) => `EXISTS (SELECT 1 FROM json_each(${ifJson('i.labels')}) WHERE value = ${label})`,
  mayHave: (word: string) =>
    `instr(lower(i.agent || ' ' || i.tool || ' ' || coalesce(i.labels, '') || ' ' || i.card), ${word}) > 0`,
  decision: `${ifJson('i.settlement')} ->> '$.decision.type'`,
  settled: (name: string) => `${ifJson('i.settlement')} ->> '$.${name}'`,
  isSettledWith: (...path: readonly string[]) =>
    `json_type(${ifJson('i.settlement')}, '$.${path.join('.')}') IS NOT NULL`,
};
