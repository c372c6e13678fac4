// The door `countersign/ai-sdk`: for apps that keep `streamText` and `useChat`.
export { APPROVAL, getToolsRequiringConfirmation } from './approval.ts';
export {
  type ConfirmedOptions,
  type ExecuteFunctions,
  processToolCalls,
  type ToolOutputWriter,
} from './process-tool-calls.ts';
