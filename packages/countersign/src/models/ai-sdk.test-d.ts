// Types: models of real providers are accepted unchanged.
import { anthropic } from '@ai-sdk/anthropic';
import { google } from '@ai-sdk/google';
import { openai } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { openai as openaiV2 } from 'openai-v2';
import { openai as openaiV3 } from 'openai-v3';
import { expectTypeOf, test } from 'vitest';
import type { AiSdkModel } from './ai-sdk.ts';
import type { AiSdkProvider, ModelInput } from './resolve.ts';

test('models of every version are models', () => {
  expectTypeOf<LanguageModelV2>().toExtend<AiSdkModel>();
  expectTypeOf<LanguageModelV3>().toExtend<AiSdkModel>();
  expectTypeOf<LanguageModelV4>().toExtend<AiSdkModel>();
  expectTypeOf(openai('gpt-5')).toExtend<ModelInput>();
  expectTypeOf(openaiV3.chat('gpt-5')).toExtend<ModelInput>();
  expectTypeOf(openaiV2.responses('gpt-5')).toExtend<ModelInput>();
  expectTypeOf(anthropic('claude-sonnet-4-5')).toExtend<ModelInput>();
});

test('providers are providers', () => {
  const compatible = createOpenAICompatible({ name: 'x', baseURL: 'https://x.example' });
  const providers = { openai, openaiV2, openaiV3, anthropic, google, compatible };
  expectTypeOf(providers).toExtend<Record<string, AiSdkProvider>>();
});

test('other objects are not language models', () => {
  expectTypeOf(openai.embedding('x')).not.toExtend<ModelInput>();
  expectTypeOf(openai.image('x')).not.toExtend<ModelInput>();
  expectTypeOf(openai).not.toExtend<ModelInput>();
});
