// From what a user gives as a model to a model that can be driven.
import { UsageError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { type AiSdkModel, aiSdkModel, isAiSdkModel, unsupportedModel } from './ai-sdk.ts';
import type { Model } from './model.ts';

/** An AI SDK provider: `openai`, or anything with `languageModel(id)`. */
export type AiSdkProvider = ((modelId: string) => AiSdkModel) | { languageModel(modelId: string): AiSdkModel };

/** AI SDK providers by the name that model names begin with. */
export type Providers = { readonly [name: string]: AiSdkProvider };

/** A model: one of an AI SDK provider, one of the port, or a name such as `'openai/gpt-5'` with `providers: { openai }`. */
export type ModelInput = string | AiSdkModel | Model;

/** Returns the same object for the same model, so that its cache per conversation is found again. */
export function resolveModel(model: ModelInput | undefined, providers: Providers): Model {
  if (model === undefined) {
    throw new UsageError('no-model', {}, 'No model was given. Pass `model` to the call or to `countersign()`.');
  }
  if (typeof model === 'string') return named(model, providers);
  return isPortModel(model) ? model : driven(model);
}

const isPortModel = (value: unknown): value is Model => isObject(value) && typeof value.reply === 'function';

const drivenModels = new WeakMap<object, Model>();

function driven(model: AiSdkModel): Model {
  if (!isAiSdkModel(model)) throw unsupportedModel(model);
  const known = drivenModels.get(model) ?? aiSdkModel(model);
  drivenModels.set(model, known);
  return known;
}

const namedModels = new WeakMap<AiSdkProvider, Map<string, Model>>();

function named(name: string, providers: Providers): Model {
  const slash = name.indexOf('/');
  const provider = providerOf(name.slice(0, Math.max(slash, 0)), providers);
  const modelId = name.slice(slash + 1);
  if (!provider || modelId === '') throw unknownModel(name, providers);
  const models = namedModels.get(provider) ?? new Map<string, Model>();
  namedModels.set(provider, models);
  const known = models.get(modelId) ?? driven(modelOf(provider, modelId, name, providers));
  models.set(modelId, known);
  return known;
}

function providerOf(name: string, providers: Providers): AiSdkProvider | undefined {
  return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

function modelOf(provider: AiSdkProvider, modelId: string, name: string, providers: Providers): AiSdkModel {
  try {
    return 'languageModel' in provider ? provider.languageModel(modelId) : provider(modelId);
  } catch (error) {
    throw unknownModel(name, providers, error);
  }
}

function unknownModel(name: string, providers: Providers, cause?: unknown): UsageError {
  const known = Object.keys(providers);
  const message = cause
    ? `Its provider knows no model "${name}".`
    : `The model "${name}" names no known provider. Write "provider/model"; known: ${known.join(', ') || 'none'}.`;
  return new UsageError('unknown-model', { model: name, providers: known }, message, { cause });
}
