// The door for authors of a store, and of servers that read one: the port and its records.
export type { Note, Notes, PutOptions } from './runs/port/notes.ts';
export { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from './runs/port/page.ts';
export type { DayStats, SettledCounts, Stats, StatsQuery, ToolStats } from './runs/port/stats.ts';
export type {
  Append,
  Appended,
  ClaimHow,
  InterruptOutcome,
  InterruptQuery,
  InterruptRecord,
  LoadedRun,
  NewInterrupt,
  NewRun,
  Page,
  ReadOptions,
  Risk,
  RunCounts,
  RunQuery,
  RunRecord,
  RunStatus,
  SettledInterrupt,
  Store,
  StoredEvent,
  TakenReminder,
} from './runs/port/store.ts';
