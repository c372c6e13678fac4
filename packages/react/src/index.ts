// The door `@countersign/react`: every public name.
'use client';

export { Appearance, type AppearanceProps, useWords, type Words } from './appearance.tsx';
export { ApprovalCard, type ApprovalCardProps } from './card/approval-card.tsx';
export { Deadline, type DeadlineProps } from './card/deadline.tsx';
export { DecidedCard, type DecidedCardProps } from './card/decided-card.tsx';
export type { Decision } from './card/decision.ts';
export { DecisionSummary } from './card/decision-summary.tsx';
export { InputDiff, type InputDiffProps } from './card/input-diff.tsx';
export {
  cameText,
  type DecisionOutcome,
  decisionOutcome,
  type Outcome,
  OutcomeIcon,
  outcomeOf,
} from './card/outcome.tsx';
export { inWords, titleOf } from './card/title.ts';
export { votesOn } from './card/voting.tsx';
export { QuestionForm, type QuestionFormProps } from './form/question-form.tsx';
export type { AnswerOf, AnyTools, ChatLike, ChatMessage, Interrupt, InterruptTools } from './request.ts';
export { Requests, type RequestsProps } from './requests.tsx';
export { LongText, type LongTextProps } from './text/long-text.tsx';
export { People, type PeopleProps, PersonName, type PersonNameProps } from './text/person-name.tsx';
export { ValueView, type ValueViewProps } from './text/value-view.tsx';
export { VisibleText, type VisibleTextProps } from './text/visible-text.tsx';
export {
  type ChatRequests,
  type RequestActions,
  type UseRequests,
  type UseRequestsOptions,
  useRequests,
} from './use-requests.ts';
