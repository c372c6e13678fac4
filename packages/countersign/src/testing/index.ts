// The door for tests: a scripted model, so that users test their own agents without a provider.
export {
  type RecordedRequest,
  type ScriptedModel,
  type ScriptedTurn,
  type ScriptStep,
  scriptedModel,
} from './scripted-model.ts';
