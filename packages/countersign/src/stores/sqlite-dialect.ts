// How the lists of interrupts are written for SQLite.
import { INTERRUPT_COLUMNS } from './rows.ts';
import { ifJson } from './sqlite-search.ts';

export const SQLITE_DIALECT = {
  columns: INTERRUPT_COLUMNS.map((column) => `i.${column}`).join(', '),
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
