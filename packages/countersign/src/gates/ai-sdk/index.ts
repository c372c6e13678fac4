// The door `countersign/ai-sdk`: for apps that keep `streamText` and `useChat`.
export type { SealKey, SealKeys } from '../../ui/seal.ts';
export type { AskConfig, GateToolsOptions } from '../gated-calls.ts';
export { APPROVAL, getToolsRequiringConfirmation } from './approval.ts';
export type { Approve } from './approval-rules.ts';
export { type Gated, gateTools, type SdkGateOptions, type SealGateOptions } from './gate-tools.ts';
export {
  type ConfirmedOptions,
  type ExecuteFunctions,
  processToolCalls,
  type ToolOutputWriter,
} from './process-tool-calls.ts';
