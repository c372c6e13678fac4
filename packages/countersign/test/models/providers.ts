// Real provider packages, each with its API: the table behind the tests over HTTP.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAI as createOpenAIV2 } from 'openai-v2';
import { createOpenAI as createOpenAIV3 } from 'openai-v3';
import type { AiSdkModel } from '../../src/models/ai-sdk.ts';
import type { ModelConfig } from '../../src/models/model.ts';
import { anthropic } from './wire/anthropic.ts';
import { gemini } from './wire/gemini.ts';
import { openaiChat } from './wire/openai-chat.ts';
import { openaiResponses } from './wire/openai-responses.ts';
import type { Dialect } from './wire/script.ts';

export type ProviderRow = {
  readonly name: string;
  readonly version: AiSdkModel['specificationVersion'];
  readonly dialect: () => Dialect;
  readonly model: (url: string) => AiSdkModel;
  readonly config: ModelConfig;
  /** Replies show the reasoning. */
  readonly reasons: boolean;
  /** The parts that the provider signs; it rejects the next turn if the signature is lost. */
  readonly signs: 'nothing' | 'reasoning' | 'calls';
};

const apiKey = 'secret-key';

export const PROVIDERS: readonly ProviderRow[] = [
  {
    name: 'openai chat (V4)',
    version: 'v4',
    dialect: () => openaiChat(),
    model: (url) => createOpenAI({ apiKey, baseURL: url }).chat('gpt-4.1'),
    config: {},
    reasons: false,
    signs: 'nothing',
  },
  {
    name: 'openai chat (V3)',
    version: 'v3',
    dialect: () => openaiChat(),
    model: (url) => createOpenAIV3({ apiKey, baseURL: url }).chat('gpt-4.1'),
    config: {},
    reasons: false,
    signs: 'nothing',
  },
  {
    name: 'openai chat (V2)',
    version: 'v2',
    dialect: () => openaiChat(),
    model: (url) => createOpenAIV2({ apiKey, baseURL: url }).chat('gpt-4.1'),
    config: {},
    reasons: false,
    signs: 'nothing',
  },
  {
    name: 'openai responses (V4)',
    version: 'v4',
    dialect: openaiResponses,
    model: (url) => createOpenAI({ apiKey, baseURL: url }).responses('gpt-5'),
    config: {},
    reasons: true,
    signs: 'reasoning',
  },
  {
    name: 'openai responses, nothing stored (V4)',
    version: 'v4',
    dialect: openaiResponses,
    model: (url) => createOpenAI({ apiKey, baseURL: url }).responses('gpt-5'),
    config: { providerOptions: { openai: { store: false } } },
    reasons: true,
    signs: 'reasoning',
  },
  {
    name: 'openai responses (V3)',
    version: 'v3',
    dialect: openaiResponses,
    model: (url) => createOpenAIV3({ apiKey, baseURL: url }).responses('gpt-5'),
    config: {},
    reasons: true,
    signs: 'reasoning',
  },
  {
    name: 'openai responses (V2)',
    version: 'v2',
    dialect: openaiResponses,
    model: (url) => createOpenAIV2({ apiKey, baseURL: url }).responses('gpt-5'),
    config: {},
    reasons: true,
    signs: 'reasoning',
  },
  {
    name: 'anthropic (V4)',
    version: 'v4',
    dialect: anthropic,
    model: (url) => createAnthropic({ apiKey, baseURL: url })('claude-sonnet-4-5'),
    config: { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } } },
    reasons: true,
    signs: 'reasoning',
  },
  {
    name: 'google (V4)',
    version: 'v4',
    dialect: gemini,
    model: (url) => createGoogle({ apiKey, baseURL: url })('gemini-3-pro-preview'),
    config: {},
    reasons: true,
    signs: 'calls',
  },
  {
    name: 'openai-compatible (V4)',
    version: 'v4',
    dialect: () => openaiChat(true),
    model: (url) => createOpenAICompatible({ name: 'compatible', apiKey, baseURL: url })('some-model'),
    config: {},
    reasons: true,
    signs: 'calls',
  },
];
