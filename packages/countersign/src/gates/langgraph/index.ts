// The entry point `countersign/langgraph`: tools of LangChain behind the gate. A gated call pauses its graph until it is decided.
export { type GraphConfig, type GraphGateOptions, type GraphPause, gateTools } from './gate-tools.ts';
export { withdrawAbandoned, withdrawMiddleware } from './withdraw.ts';
