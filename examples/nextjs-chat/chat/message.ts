// The messages of this app: typed by its tools, of which nothing but the types reaches the browser.
import type { UIMessage } from 'ai';
import type { ChatDataParts, InferTools } from 'countersign/ui';
import type { createTools } from '../server/tools.ts';

export type AppTools = InferTools<ReturnType<typeof createTools>>;

export type AppMessage = UIMessage<unknown, ChatDataParts, AppTools>;
