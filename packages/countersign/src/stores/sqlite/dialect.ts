// How lists are written for SQLite.
import type { Dialect } from '../sql/list-query.ts';
import { INTERRUPT_COLUMNS, RUN_COLUMNS } from '../sql/rows.ts';
import type { RunsDialect } from '../sql/runs-query.ts';

export const interruptFields = (table: string): string => fields(table, INTERRUPT_COLUMNS);

/** Node fails a whole statement at an integer that JavaScript cannot hold. As REAL, only its own row is refused. */
function fields(table: string, columns: readonly string[]): string {
  const field = (column: string): string =>
    column === 'version' || column.endsWith('_at') ? `CAST(${table}.${column} AS REAL)` : `${table}.${column}`;
  return columns.map((column) => `${field(column)} AS ${column}`).join(', ');
}

export const RUNS_DIALECT: RunsDialect = {
  columns: fields('r', RUN_COLUMNS),
  runs: 'countersign_run',
  value: () => '?',
};

export const SQLITE_DIALECT: Dialect = {
  columns: interruptFields('i'),
  interrupts: 'countersign_interrupt',
  value: () => '?',
  ofRun: (runId) => `i.run_id = ${runId}`,
  // A text that is not JSON would fail the whole statement.
  hasLabel: (label) =>
    `EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(i.labels) THEN i.labels END) WHERE value = ${label})`,
  contains: (text, word) => `instr(${text}, ${word}) > 0`,
};
