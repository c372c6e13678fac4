// `countersign/testing`: a scripted model and a stand-in model, which need no provider, the crash kit, the simulation, and the contract
// of stores.
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
export type {
  SimulatedFailure,
  SimulatedProcess,
  SimulateOptions,
  SimulationReport,
} from './simulate/options.ts';
export { simulate } from './simulate/simulate.ts';
export type { SimulatedEffect } from './simulate/world.ts';
export { type StandInOptions, standInModel } from './stand-in/stand-in-model.ts';
export { type StoreUnderTest, storeContract, type TestFunctions } from './store-contract/store-contract.ts';
