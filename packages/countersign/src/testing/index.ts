// The door for tests: a scripted model, so that users test their own agents without a provider, and the contract of stores.
export {
  type CrashDecision,
  type CrashEffect,
  type CrashOptions,
  type CrashPoint,
  type CrashProcess,
  type CrashReport,
  type CrashResult,
  type CrashScenario,
  crashEverywhere,
} from './crash/crash-kit.ts';
export {
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedTurn,
  type ScriptStep,
  scriptedModel,
} from './scripted-model.ts';
export { type StoreUnderTest, storeContract, type TestFunctions } from './store-contract/store-contract.ts';
