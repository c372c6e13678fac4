// The door `@countersign/react`: every public name.
'use client';

export { Appearance, type AppearanceProps, type Words } from './appearance.tsx';
export { ApprovalCard, type ApprovalCardProps } from './approval-card.tsx';
export { Deadline, type DeadlineProps } from './deadline.tsx';
export type { Decision } from './decision.ts';
export { DecisionSummary } from './decision-summary.tsx';
export { QuestionForm, type QuestionFormProps } from './form/question-form.tsx';
export { InputDiff, type InputDiffProps } from './input-diff.tsx';
export type { AnswerOf, AnyTools, ChatLike, ChatMessage, Interrupt, InterruptTools } from './interrupt.ts';
export { Interrupts, type InterruptsProps } from './interrupts.tsx';
export { LongText, type LongTextProps } from './long-text.tsx';
export {
  type InterruptActions,
  type UseInterrupts,
  type UseInterruptsOptions,
  useInterrupts,
} from './use-interrupts.ts';
export { ValueView, type ValueViewProps } from './value-view.tsx';
export { VisibleText, type VisibleTextProps } from './visible-text.tsx';
