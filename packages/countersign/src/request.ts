// The entry point `countersign/request`: what a screen needs to show a request and its run. It imports the pure core alone, so it
// runs in browsers.
export { canonicalJson } from './core/json.ts';
export {
  type Form,
  type FormField,
  type FormOption,
  type FormProblem,
  type FormStrings,
  formOf,
  readForm,
} from './core/request/form.ts';
export {
  compareInputs,
  type Groupable,
  groupSimilar,
  type InputComparison,
  type InputField,
  type SimilarGroup,
} from './core/request/similar.ts';
export {
  createTimeline,
  type TimedEvent,
  type TimelineCall,
  type TimelineEntry,
  timelineOf,
} from './core/run/timeline.ts';
export { addUsage, type Usage } from './core/run/usage.ts';
