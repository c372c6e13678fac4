// The entry point `countersign/request`: what a screen needs to show a request and its run. It imports the pure core, and what
// writes money and dates, so it runs in browsers.
export { type Condition, meets } from './core/authority/condition.ts';
export type { Grant, GrantStatus, GrantUse, Serves } from './core/authority/grants/grant.ts';
export type { GrantMaximum } from './core/authority/grants/grant-maximum.ts';
export {
  EVERYTHING,
  type Group,
  type Policies,
  type Policy,
  shownPolicy,
  type Vote,
  type Who,
} from './core/authority/policy.ts';
export type { Missing } from './core/authority/tally.ts';
export { canonicalJson } from './core/json.ts';
export { type FieldOrigin, isAlarming, type Origin, type Origins, originText } from './core/origin/origin.ts';
export { type FileType, isFileType, isImage, type PreviewFile } from './core/request/file.ts';
export {
  type Form,
  type FormField,
  type FormOption,
  type FormProblem,
  type FormStrings,
  formOf,
  readForm,
} from './core/request/form.ts';
export { type Line, labelOf, labelsTo, lineAt, lineOf } from './core/request/line.ts';
export { mayHaveRun, type NoticeType } from './core/request/notice.ts';
export type { CallOutcome, NotRun } from './core/request/outcome.ts';
export { type Names, nameIn, personText } from './core/request/person.ts';
export type { Reading } from './core/request/reading.ts';
export type { Remark } from './core/request/remarks.ts';
export type { Preview, RequestKind, Reversibility } from './core/request/request.ts';
export {
  compareInputs,
  type Groupable,
  groupSimilar,
  type InputComparison,
  type InputField,
  type SimilarGroup,
} from './core/request/similar.ts';
export { type FieldSum, type InputTotals, totalsOf } from './core/request/totals.ts';
export type { RequestView } from './core/request/view.ts';
export type { Decision } from './core/run/event.ts';
export {
  createTimeline,
  type TimedEvent,
  type TimelineCall,
  type TimelineEntry,
  timelineOf,
} from './core/run/timeline.ts';
export { addUsage, type Usage } from './core/run/usage.ts';
export { type Locale, readingText } from './reading-text.ts';
