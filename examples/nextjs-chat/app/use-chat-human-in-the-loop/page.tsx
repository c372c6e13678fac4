// The recipe's abstraction. Which tools ask is worked out here, on the server.
import { getToolsRequiringConfirmation } from 'countersign/ai-sdk';
import { RecipeChat } from '../../recipe/recipe-chat.tsx';
import { chosenModel } from '../../server/model.ts';
import { tools } from '../api/use-chat-human-in-the-loop/tools.ts';

// Which model answers is known when the server runs, not when the app is built.
export const dynamic = 'force-dynamic';

export default async function Page() {
  const { name, isDemo } = await chosenModel();
  return <RecipeChat model={{ name, isDemo }} toolsRequiringConfirmation={getToolsRequiringConfirmation(tools)} />;
}
