// The entry point `countersign/mastra`: tools of Mastra behind the gate. A gated call suspends its run until it is decided.
export { gateTools, type MastraGateOptions, type MastraTools, type ToolPause } from './gate-tools.ts';
