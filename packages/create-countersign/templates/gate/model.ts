// The model: a stand-in that needs no key and picks tools by the words of a message. To use a real one:
//   npm install @ai-sdk/openai
//   replace this file by: import { openai } from '@ai-sdk/openai'; export const model = openai('gpt-5');
//   OPENAI_API_KEY=sk-… npm start
import { asLanguageModel, standInModel } from 'countersign/testing';

export const model = asLanguageModel(standInModel());
