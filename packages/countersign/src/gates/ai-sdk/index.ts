// The door `countersign/ai-sdk`: for apps that keep `streamText` and `useChat`.
export type { SealKey, SealKeys } from '../../ui/seal.ts';
export { APPROVAL, getToolsRequiringConfirmation } from './approval.ts';
export type { Approve } from './approval-rules.ts';
export {
  type Gated,
  type GateOptions,
  gate,
  type SecretGateOptions,
  type StoreGated,
  type StoreGateOptions,
} from './gate.ts';
export {
  type ConfirmedOptions,
  type ExecuteFunctions,
  processToolCalls,
  type ToolOutputWriter,
} from './process-tool-calls.ts';
export type { MayDecide } from './recorded-calls.ts';
export type { Titles } from './titles.ts';
