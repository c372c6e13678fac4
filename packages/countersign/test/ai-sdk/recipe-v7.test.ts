// The recipe with version 7 of the AI SDK, and the `Chat` of its React package.
import { Chat } from '@ai-sdk/react';
import { recipeChat } from './recipe-chat.ts';

recipeChat((options) => new Chat(options));
