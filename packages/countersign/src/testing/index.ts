// `countersign/testing`: a scripted model and a stand-in model, which need no provider, the crash kit, and the contract of stores.
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
export { asLanguageModel, type TestLanguageModel } from './language-model.ts';
export {
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedTurn,
  type ScriptStep,
  scriptedModel,
} from './scripted-model.ts';
export { type StandInOptions, standInModel } from './stand-in/stand-in-model.ts';
export { type StoreUnderTest, storeContract, type TestFunctions } from './store-contract/store-contract.ts';
