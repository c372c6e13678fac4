// The door for authors of a store, and of servers that read one: the port, its records, and the rules that all stores share.

export type { Deciders } from './core/authority/deciders.ts';
export { faultInJson, folded, type JsonTextFault, type JsonTextLimits } from './core/json-text.ts';
export { shownAgent } from './core/run/drill.ts';
export type { Note, Notes, PutOptions } from './runs/port/notes.ts';
export { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from './runs/port/page.ts';
export type { DayStats, SettledCounts, Stats, StatsQuery, ToolStats } from './runs/port/stats.ts';
export type {
  AgentQueue,
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
  ProgressedInterrupt,
  Projection,
  ReadOptions,
  Risk,
  RunCounts,
  RunQuery,
  RunRecord,
  RunStatus,
  SettledInterrupt,
  Store,
  StoredEvent,
  UntoldInterrupt,
} from './runs/port/store.ts';
export { type Claim, claimAfter, mayTake, takeClaim } from './stores/rules/claim.ts';
export { createNotes, type NewNote, type NoteRow, type NoteRows } from './stores/rules/notes.ts';
export { readEventLimit } from './stores/rules/page.ts';
export { checkAppend, isStorable, refusalOf, type Stored } from './stores/rules/refusals.ts';
